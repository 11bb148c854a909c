import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { headersOf, type SipRequest } from '../message.ts'
import { uriOf } from '../uri.ts'
import { type Algorithm, algorithmOf, digest, printAuth, readAuth } from './challenge.ts'

export type DigestServerSettings = {
  readonly realm: string
  /** Makes the nonces ours. */
  readonly secret: string
  /** Milliseconds. */
  now(): number
  /** How long a nonce may be used, ms. */
  readonly lifeMs?: number
  /** Nonces whose use is remembered, at most. */
  readonly most?: number
  /**
   * Those that are offered, in this order. Browsers want MD5 alone: JsSIP reads the first challenge only, and knows no other
   * algorithm. What protects them is TLS.
   */
  readonly algorithms?: readonly Algorithm[]
}

/** What a request says of its sender. Nothing of it is proved before `verify`. */
export type Claim = {
  readonly username: string
  readonly params: ReadonlyMap<string, string>
  readonly algorithm: Algorithm
}

/** `stale`: the sender knows the password, or might, and is to be asked again with a fresh nonce. */
export type Verdict = 'good' | 'stale' | 'bad'

const equal = (a: string, b: string): boolean =>
  a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))

/**
 * The server's side of digest authentication (RFC 7616; RFC 3261, 22). A nonce is the time, chance and an HMAC over both: nothing is
 * kept for who only asks. Once it is used, its count must grow with each request, so nothing that was heard can be said
 * again; the table of counts is bounded, and what was driven out of it is stale for good.
 */
export class DigestServer {
  private readonly settings: Required<DigestServerSettings>
  /** Highest count of each nonce in use. */
  private readonly counts = new Map<string, number>()
  /** Nonces of this time or before which are not in the table may have been used: ms. */
  private forgotten = -1

  constructor(settings: DigestServerSettings) {
    this.settings = { lifeMs: 300_000, most: 100_000, algorithms: ['SHA-256', 'MD5'], ...settings }
  }

  /** Values of WWW-Authenticate, one header each. */
  challenge(stale = false): string[] {
    const { realm, algorithms } = this.settings
    const nonce = this.makeNonce()
    return algorithms.map((algorithm) =>
      printAuth({ realm, nonce, algorithm, qop: 'auth', ...(stale ? { stale: 'true' } : {}) }),
    )
  }

  /** Who the request claims to be from, when it answers a challenge of this realm. */
  claim(request: SipRequest, header: 'Authorization' | 'Proxy-Authorization' = 'Authorization'): Claim | null {
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

  /** @param password of the user that is claimed */
  verify(request: SipRequest, { username, params, algorithm }: Claim, password: string): Verdict {
    const [uri, nonce, nc, cnonce] = ['uri', 'nonce', 'nc', 'cnonce'].map((name) => params.get(name) ?? '')
    if (!uri || !nonce || !nc || !cnonce || params.get('qop') !== 'auth' || !/^[\da-f]{8}$/i.test(nc)) return 'bad'
    if (!this.isMeant(request, uri)) return 'bad'
    const { realm } = this.settings
    const wanted = digest({
      algorithm,
      username,
      password,
      realm,
      method: request.method,
      uri,
      nonce,
      auth: { nc, cnonce },
    })
    if (!equal(wanted, (params.get('response') ?? '').toLowerCase())) return 'bad'
    return this.count(nonce, Number.parseInt(nc, 16)) ? 'good' : 'stale'
  }

  /** The URI that was signed is the one that is asked for; a proxy may have changed how it is written (RFC 3261, 22.4, 3). */
  private isMeant(request: SipRequest, signed: string): boolean {
    if (signed === request.uri) return true
    const [a, b] = [uriOf(signed), uriOf(request.uri)]
    return a !== null && b !== null && a.user === b.user && a.host === b.host
  }

  private makeNonce(): string {
    const head = Buffer.alloc(16)
    head.writeUIntBE(this.settings.now(), 0, 6)
    randomBytes(10).copy(head, 6)
    return Buffer.concat([head, this.seal(head)]).toString('base64url')
  }

  private seal(head: Buffer): Buffer {
    return createHmac('sha256', this.settings.secret).update(head).digest().subarray(0, 16)
  }

  /** When a nonce of ours was made, ms; null for one that is not ours. */
  private madeAt(nonce: string): number | null {
    const octets = Buffer.from(nonce, 'base64url')
    if (octets.length !== 32 || octets.toString('base64url') !== nonce) return null
    const head = octets.subarray(0, 16)
    return timingSafeEqual(this.seal(head), octets.subarray(16)) ? head.readUIntBE(0, 6) : null
  }

  /** True when the nonce lives and this count of it is new. */
  private count(nonce: string, nc: number): boolean {
    const made = this.madeAt(nonce)
    if (made === null || made + this.settings.lifeMs < this.settings.now()) return false
    const last = this.counts.get(nonce)
    if (last === undefined ? made <= this.forgotten : nc <= last) return false
    this.counts.set(nonce, nc)
    if (this.counts.size > this.settings.most) this.forget()
    return true
  }

  private forget(): void {
    for (const oldest of this.counts.keys().take(Math.ceil(this.settings.most / 10))) {
      this.forgotten = Math.max(this.forgotten, this.madeAt(oldest) ?? 0)
      this.counts.delete(oldest)
    }
  }
}
