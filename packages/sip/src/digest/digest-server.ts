import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { headersOf, type SipRequest } from '../message.ts'
import { uriOf } from '../uri.ts'
import { type Algorithm, algorithmOf, digest, printAuth, readAuth } from './digest.ts'

export type DigestServerSettings = {
  readonly realm: string
  /** Key of the HMAC in our nonces. */
  readonly secret: string
  /** Current time, ms. */
  now(): number
  /** How long a nonce may be used, ms. */
  readonly nonceLifetimeMs?: number
  /** Maximum number of nonces with a stored count. */
  readonly maxNonces?: number
  /**
   * Offered algorithms, in this order. Browsers need MD5 alone: JsSIP reads the first challenge only and supports no
   * other algorithm. TLS protects them.
   */
  readonly algorithms?: readonly Algorithm[]
}

/** The identity that a request claims. Unproven until `verify`. */
export type DigestClaim = {
  readonly username: string
  readonly params: ReadonlyMap<string, string>
  readonly algorithm: Algorithm
}

/** `stale`: the response was right, but the nonce must not be used again. Challenge with a fresh nonce. */
export type DigestVerdict = 'good' | 'stale' | 'bad'

const equal = (a: string, b: string): boolean =>
  a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))

/**
 * The server side of digest authentication (RFC 7616; RFC 3261, 22). A nonce holds the time, random octets and an HMAC
 * over both, so a challenge stores nothing. Once a nonce is used, its count must grow with each request, which prevents
 * replay. The table of counts is bounded; an evicted nonce stays stale.
 */
export class DigestServer {
  private readonly settings: Required<DigestServerSettings>
  /** Highest count of each nonce in use. */
  private readonly counts = new Map<string, number>()
  /** Nonces made at or before this time, ms, that are not in the table may have been used. */
  private evictedUntil = -1

  constructor(settings: DigestServerSettings) {
    this.settings = { nonceLifetimeMs: 300_000, maxNonces: 100_000, algorithms: ['SHA-256', 'MD5'], ...settings }
  }

  /** Values of WWW-Authenticate, one header each. */
  challenge(stale = false): string[] {
    const { realm, algorithms } = this.settings
    const nonce = this.makeNonce()
    return algorithms.map((algorithm) =>
      printAuth({ realm, nonce, algorithm, qop: 'auth', ...(stale ? { stale: 'true' } : {}) }),
    )
  }

  /** The identity the request claims when it answers a challenge of this realm. */
  claim(request: SipRequest, header: 'Authorization' | 'Proxy-Authorization' = 'Authorization'): DigestClaim | null {
    for (const value of headersOf(request, header)) {
      const auth = readAuth(value)
      if (auth?.scheme !== 'digest' || auth.params.get('realm') !== this.settings.realm) continue
      const username = auth.params.get('username')
      const algorithm = algorithmOf(auth.params)
      if (username && algorithm && this.settings.algorithms.includes(algorithm))
        return { username, params: auth.params, algorithm }
    }
    return null
  }

  /** @param password of the claimed user */
  verify(request: SipRequest, { username, params, algorithm }: DigestClaim, password: string): DigestVerdict {
    const [uri, nonce, nc, cnonce] = ['uri', 'nonce', 'nc', 'cnonce'].map((name) => params.get(name) ?? '')
    if (!uri || !nonce || !nc || !cnonce || params.get('qop') !== 'auth' || !/^[\da-f]{8}$/i.test(nc)) return 'bad'
    if (!this.matchesTarget(request, uri)) return 'bad'
    const { realm } = this.settings
    const expected = digest({
      algorithm,
      username,
      password,
      realm,
      method: request.method,
      uri,
      nonce,
      auth: { nc, cnonce },
    })
    if (!equal(expected, (params.get('response') ?? '').toLowerCase())) return 'bad'
    return this.count(nonce, Number.parseInt(nc, 16)) ? 'good' : 'stale'
  }

  /** True when the signed URI is the requested one. A proxy may have changed its spelling (RFC 3261, 22.4, 3). */
  private matchesTarget(request: SipRequest, signed: string): boolean {
    if (signed === request.uri) return true
    const [a, b] = [uriOf(signed), uriOf(request.uri)]
    return a !== null && b !== null && a.user === b.user && a.host === b.host
  }

  private makeNonce(): string {
    const head = Buffer.alloc(16)
    head.writeUIntBE(this.settings.now(), 0, 6)
    randomBytes(10).copy(head, 6)
    return Buffer.concat([head, this.sign(head)]).toString('base64url')
  }

  private sign(head: Buffer): Buffer {
    return createHmac('sha256', this.settings.secret).update(head).digest().subarray(0, 16)
  }

  /** When we made a nonce, ms; null for a foreign one. */
  private madeAt(nonce: string): number | null {
    const octets = Buffer.from(nonce, 'base64url')
    if (octets.length !== 32 || octets.toString('base64url') !== nonce) return null
    const head = octets.subarray(0, 16)
    return timingSafeEqual(this.sign(head), octets.subarray(16)) ? head.readUIntBE(0, 6) : null
  }

  /** True when the nonce is valid and this count is new. */
  private count(nonce: string, nc: number): boolean {
    const createdAt = this.madeAt(nonce)
    if (createdAt === null || createdAt + this.settings.nonceLifetimeMs < this.settings.now()) return false
    const last = this.counts.get(nonce)
    if (last === undefined ? createdAt <= this.evictedUntil : nc <= last) return false
    this.counts.set(nonce, nc)
    if (this.counts.size > this.settings.maxNonces) this.evict()
    return true
  }

  private evict(): void {
    for (const oldest of this.counts.keys().take(Math.ceil(this.settings.maxNonces / 10))) {
      this.evictedUntil = Math.max(this.evictedUntil, this.madeAt(oldest) ?? 0)
      this.counts.delete(oldest)
    }
  }
}
