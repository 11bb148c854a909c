import type { Agent, IncomingMessage } from 'node:http'
import https from 'node:https'
import { OutboundError } from './outbound-exchange.ts'
import type { CheckedTarget } from './outbound-pool.ts'

/** An import by name would also load Node's browser-compatible parts: 25 ms of a start, 11 MB. */
const http = process.getBuiltinModule('node:http')

export type Agents = { readonly plain: Agent; readonly secure: https.Agent; destroy(): void }

/** Returns agents with one connection per file. Node's own agents would use proxies of the environment. */
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

export type DownloadOptions = {
  /** Maximum wait for the status and between two pieces of the body, in milliseconds. */
  readonly idleMs: number
  /** Further headers. Default: none. */
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

/**
 * Requests a file at a checked address. The caller must bound the response stream and destroy it. Redirects are
 * returned like other responses.
 * @throws OutboundError if there is no response
 */
export const download = (
  agents: Agents,
  { target, lookup }: CheckedTarget,
  { idleMs, headers = {}, signal }: DownloadOptions,
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
      // Responses are not decompressed, so only identity is requested.
      headers: { ...headers, host: hostHeader, accept: '*/*', 'accept-encoding': 'identity', connection: 'close' },
      ...(isSecure && !isAddress ? { servername: host } : {}),
      ...(signal ? { signal } : {}),
    }
    const request = (isSecure ? https : http).request(options)
    request.on('timeout', () => request.destroy(new OutboundError('timeout', `no data within ${idleMs / 1000} s`)))
    request.on('error', (error) =>
      reject(
        error instanceof OutboundError ? error : new OutboundError('connect', `the download failed: ${error.message}`),
      ),
    )
    request.on('response', resolve)
    request.end()
  })
