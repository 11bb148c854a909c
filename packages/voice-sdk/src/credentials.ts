import { readToken } from './token.ts'
import { VoiceError } from './voice-error.ts'

/** The response of `POST /open/sdk/credentials`. */
export type Credentials = {
  readonly sip: {
    readonly uri: string
    readonly ws_url: string
    readonly realm: string
    readonly username: string
    readonly password: string
    readonly generation: number
  }
  readonly ice_servers: RTCIceServer[]
}

const timeoutMs = 15_000

/** Describes a failed request. The browser does not distinguish network and CORS failures. */
const describeUnreachable = (baseUrl: string): string => {
  const isOwn = new URL(baseUrl).origin === location.origin
  return isOwn
    ? `${baseUrl} cannot be reached`
    : `${baseUrl} cannot be reached, or ${location.origin} is not among its TRUNKLINE_CORS_ORIGINS`
}

const errorOfStatus = (token: string, status: number, message: string): VoiceError => {
  if (status === 401)
    return readToken(token).until <= Date.now()
      ? new VoiceError('TOKEN_EXPIRED', 'The token has expired', status)
      : new VoiceError('TOKEN_INVALID', message, status)
  if (status === 403) return new VoiceError('AUTH_ERROR', message, status)
  return new VoiceError('CONFIG_FETCH_FAILED', message, status)
}

/**
 * Exchanges a token for SIP and TURN credentials that expire with it.
 * @param renew true if the Device continues and keeps its generation
 * @throws VoiceError TOKEN_INVALID, TOKEN_EXPIRED, AUTH_ERROR, CONFIG_FETCH_FAILED
 */
export const fetchCredentials = async (baseUrl: string, token: string, renew: boolean): Promise<Credentials> => {
  const failed = (message: string, why: unknown) => new VoiceError('CONFIG_FETCH_FAILED', message, null, why)
  try {
    const answer = await fetch(`${baseUrl}/open/sdk/credentials`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ renew }),
      signal: AbortSignal.timeout(timeoutMs),
    }).catch((error) => {
      throw failed(describeUnreachable(baseUrl), error)
    })
    const body = await answer.json()
    if (!answer.ok) throw errorOfStatus(token, answer.status, String(body.error_message ?? `HTTP ${answer.status}`))
    if (typeof body.sip?.ws_url !== 'string') throw failed(`${baseUrl} returned no credentials`, null)
    return body
  } catch (error) {
    throw error instanceof VoiceError ? error : failed(`${baseUrl} returned an invalid response`, error)
  }
}
