import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import { type Agents, type Judged, OutboundError } from './outbound-exchange.ts'

export type Download = {
  /** Until the status is there, and then between two pieces of the body, in milliseconds. */
  readonly idleMs: number
  readonly signal?: AbortSignal
}

/**
 * Asks for a file at a judged address. The body is the answer itself, a stream that whoever reads it bounds and destroys; a
 * redirect is an answer like any other.
 * @throws OutboundError when there was no answer
 */
export const download = (
  agents: Agents,
  { target, receiver, lookup }: Judged,
  { idleMs, signal }: Download,
): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const { isSecure, host, port, path, hostHeader, isAddress } = target
    const options = {
      agent: isSecure ? agents.secure : agents.plain,
      method: 'GET',
      host,
      port,
      path,
      lookup,
      receiver,
      autoSelectFamily: true,
      maxHeaderSize: 16_384,
      setDefaultHeaders: false,
      timeout: idleMs,
      // Nothing is unpacked here, so nothing packed is asked for.
      headers: { host: hostHeader, accept: '*/*', 'accept-encoding': 'identity', connection: 'close' },
      ...(isSecure && !isAddress ? { servername: host } : {}),
      ...(signal ? { signal } : {}),
    }
    const request = (isSecure ? https : http).request(options)
    request.on('timeout', () => request.destroy(new OutboundError('timeout', `nothing came within ${idleMs / 1000} s`)))
    request.on('error', (error) =>
      reject(error instanceof OutboundError ? error : new OutboundError('connect', `no file: ${error.message}`)),
    )
    request.on('response', resolve)
    request.end()
  })
