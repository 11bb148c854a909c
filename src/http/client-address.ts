import type { IncomingMessage } from 'node:http'
import proxyAddress from '@fastify/proxy-addr'

/** The address behind a request, judged as Fastify judges `request.ip`: for what never becomes a request of Fastify's. */
export const makeClientAddress = (trustProxy: boolean | string): ((request: IncomingMessage) => string) => {
  if (trustProxy === false) return ({ socket }) => socket.remoteAddress ?? ''
  const trusts =
    trustProxy === true ? () => true : proxyAddress.compile(trustProxy.split(',').map((part) => part.trim()))
  return (request) => proxyAddress(request, trusts)
}
