import { randomBytes } from 'node:crypto'
import { headersOf, type SipRequest, type SipResponse, withHeader } from '../message.ts'
import { type Algorithm, algorithmOf, algorithms, digest, printAuth, readAuth } from './digest.ts'

export type DigestCredentials = { readonly username: string; readonly password: string }

type StoredChallenge = {
  readonly header: 'Authorization' | 'Proxy-Authorization'
  readonly realm: string
  readonly nonce: string
  readonly opaque: string | null
  readonly algorithm: Algorithm
  readonly qop: boolean
  readonly stale: boolean
  count: number
}

const credentialsHeaders = {
  'WWW-Authenticate': 'Authorization',
  'Proxy-Authenticate': 'Proxy-Authorization',
} as const

const maxRealms = 8

/** The supported challenges of a response, with the best algorithm of each realm. */
const challenges = (response: SipResponse): StoredChallenge[] => {
  const found: StoredChallenge[] = []
  for (const from of ['WWW-Authenticate', 'Proxy-Authenticate'] as const) {
    for (const value of headersOf(response, from)) {
      const auth = readAuth(value)
      if (auth?.scheme !== 'digest') continue
      const algorithm = algorithmOf(auth.params)
      const [realm, nonce] = [auth.params.get('realm'), auth.params.get('nonce')]
      const offered = auth.params
        .get('qop')
        ?.toLowerCase()
        .split(',')
        .map((option) => option.trim())
      if (algorithm === null || realm === undefined || nonce === undefined || (offered && !offered.includes('auth')))
        continue
      const stale = auth.params.get('stale')?.toLowerCase() === 'true'
      const opaque = auth.params.get('opaque') ?? null
      found.push({
        header: credentialsHeaders[from],
        realm,
        nonce,
        opaque,
        algorithm,
        qop: offered !== undefined,
        stale,
        count: 0,
      })
    }
  }
  return found
    .toSorted((a, b) => algorithms.indexOf(a.algorithm) - algorithms.indexOf(b.algorithm))
    .filter((one, at, all) => all.findIndex(({ header, realm }) => header === one.header && realm === one.realm) === at)
}

/** The client side of digest authentication (RFC 7616, RFC 8760; RFC 3261, 22), for one account at one peer. */
export class DigestClient {
  private readonly credentials: DigestCredentials
  private readonly stored = new Map<string, StoredChallenge>()

  constructor(credentials: DigestCredentials) {
    this.credentials = credentials
  }

  /**
   * Returns the request with an answer to the challenge of a 401 or 407. The caller must change CSeq and branch. Null
   * when no challenge is supported, or when an answer was refused: the password is wrong, and another attempt may lock
   * the account.
   * @param isFirst the request was not signed for a challenge just before: an older nonce may have expired
   */
  answer(request: SipRequest, response: SipResponse, isFirst = true): SipRequest | null {
    const found = challenges(response)
    if (found.length === 0 || found.some((one) => this.wasRefused(request, one, isFirst))) return null
    for (const one of found) {
      const key = `${one.header} ${one.realm}`
      if (this.stored.size >= maxRealms && !this.stored.has(key)) this.stored.clear()
      this.stored.set(key, one)
    }
    return this.sign(request)
  }

  /** Signs the request for all earlier challenges, so that the peer need not ask again. */
  sign(request: SipRequest): SipRequest {
    let signed = request
    for (const header of ['Authorization', 'Proxy-Authorization'] as const) {
      const values = [...this.stored.values()]
        .filter((one) => one.header === header)
        .map((one) => this.value(request, one))
      if (values.length > 0) signed = withHeader(signed, header, ...values)
    }
    return signed
  }

  private wasRefused(request: SipRequest, { header, realm, nonce, stale }: StoredChallenge, isFirst: boolean): boolean {
    if (stale) return false
    return headersOf(request, header).some((value) => {
      const params = readAuth(value)?.params
      return params?.get('realm') === realm && (!isFirst || params.get('nonce') === nonce)
    })
  }

  private value({ method, uri }: SipRequest, known: StoredChallenge): string {
    const { realm, nonce, algorithm, opaque, qop } = known
    const { username, password } = this.credentials
    known.count++
    const nc = known.count.toString(16).padStart(8, '0')
    const auth = qop ? { nc, cnonce: randomBytes(12).toString('hex') } : null
    const response = digest({ algorithm, username, password, realm, method, uri, nonce, auth })
    return printAuth({
      ...{ username, realm, nonce, uri, response, algorithm },
      ...(opaque === null ? {} : { opaque }),
      ...(auth ? { ...auth, qop: 'auth' } : {}),
    })
  }
}
