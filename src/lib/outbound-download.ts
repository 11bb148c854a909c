import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import { OutboundError } from './outbound-exchange.ts'
import type { Judged } from './outbound-links.ts'

export type Agents = { readonly plain: http.Agent; readonly secure: https.Agent; destroy(): void }

/** Of connections for one file each; not Node's own, which ask the environment for proxies. */
export const makeAgents = (): Agents => {
  const plain = new http.Agent()
  const secure = new https.Agent()
  return {
    plain,
    secure,
    destroy: () => {
      plain.destroy()
      secure.destroy()
    },
  }
}

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
  { target, lookup }: Judged,
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
