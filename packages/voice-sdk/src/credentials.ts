import { VoiceError } from './fault.ts'
import { readToken } from './token.ts'

/** What `POST /open/sdk/credentials` answers. */
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

const patienceMs = 15_000

/** A browser does not say which of both it was. */
const unreached = (baseUrl: string): string => {
  const isOwn = new URL(baseUrl).origin === location.origin
  return isOwn
    ? `${baseUrl} cannot be reached`
    : `${baseUrl} cannot be reached, or ${location.origin} is not among its TRUNKLINE_CORS_ORIGINS`
}

const refused = (token: string, status: number, message: string): VoiceError => {
  if (status === 401)
    return readToken(token).until <= Date.now()
      ? new VoiceError('TOKEN_EXPIRED', 'The token has expired', status)
      : new VoiceError('TOKEN_INVALID', message, status)
  if (status === 403) return new VoiceError('AUTH_ERROR', message, status)
  return new VoiceError('CONFIG_FETCH_FAILED', message, status)
}

/**
 * Exchanges a token for credentials of SIP and TURN that end with it.
 * @param renew true for a Device that goes on: it stays the same one
 * @throws VoiceError TOKEN_INVALID, TOKEN_EXPIRED, AUTH_ERROR, CONFIG_FETCH_FAILED
 */
export const fetchCredentials = async (baseUrl: string, token: string, renew: boolean): Promise<Credentials> => {
  const failed = (message: string, why: unknown) => new VoiceError('CONFIG_FETCH_FAILED', message, null, why)
  try {
    const answer = await fetch(`${baseUrl}/open/sdk/credentials`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ renew }),
      signal: AbortSignal.timeout(patienceMs),
    }).catch((error) => {
      throw failed(unreached(baseUrl), error)
    })
    const body = await answer.json()
    if (!answer.ok) throw refused(token, answer.status, String(body.error_message ?? `HTTP ${answer.status}`))
    if (typeof body.sip?.ws_url !== 'string') throw failed(`${baseUrl} gave no credentials`, null)
    return body
  } catch (error) {
    throw error instanceof VoiceError ? error : failed(`${baseUrl} did not answer as it should`, error)
  }
}
