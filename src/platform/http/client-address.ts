import type { IncomingMessage } from 'node:http'
import proxyAddress from '@fastify/proxy-addr'

/** Returns a function for the client address of a raw request, by the rules of Fastify's `request.ip`. */
export const makeClientAddress = (trustProxy: boolean | string): ((request: IncomingMessage) => string) => {
  if (trustProxy === false) return ({ socket }) => socket.remoteAddress ?? ''
  const trusts =
    trustProxy === true ? () => true : proxyAddress.compile(trustProxy.split(',').map((part) => part.trim()))
  return (request) => proxyAddress(request, trusts)
}
