import { type Credentials, fetchCredentials } from './credentials.ts'
import { VoiceError } from './fault.ts'
import { Line, type LineEvents } from './line.ts'
import type { UnregisterReason } from './options.ts'
import { type Claims, readToken } from './token.ts'

export type RegistrationEvents = Pick<LineEvents, 'invited' | 'said'> & {
  registered(): void
  reconnected(): void
  reconnecting(): void
  /** The connection broke, whether or not anybody was registered. */
  broken(): void
  left(reason: UnregisterReason): void
  /** A registration that stood was not taken again; it is tried once more by itself. */
  refused(error: VoiceError): void
  /** A call is under way: the line is kept for it. */
  isBusy(): boolean
}

/** The codes with which the server closes a connection. */
const dismissals: Record<number, UnregisterReason> = { 4001: 'replaced', 4002: 'expired', 4003: 'suspended' }
/** After a registration that the server could not take just now, ms. */
const retryMs = 5_000

type Standing = 'away' | 'here' | 'reconnecting'

const refusal = (status: number | null, reason: string): VoiceError => {
  if (status === null) return new VoiceError('REGISTER_ERROR', `The registration was not answered: ${reason}`)
  const code = [401, 403, 407].includes(status) ? 'AUTH_ERROR' : 'REGISTRATION_FAILED'
  return new VoiceError(code, `The registration was refused: ${status} ${reason}`, status)
}

const destroyed = () => new VoiceError('NOT_REGISTERED', 'The Device was destroyed')

/** Whether the server has us, by a token, over a line; through broken connections, refusals and newer devices. */
export class Registration {
  iceServers: RTCIceServer[] = []
  private readonly server: string | undefined
  private readonly events: RegistrationEvents
  private token: string
  private known: Claims
  private line: Line | null = null
  /** Which device of the user this is: the newest one has the registration. Null for a new one. */
  private generation: number | null = null
  private standing: Standing = 'away'
  private entered: { resolve(): void; reject(error: VoiceError): void } | null = null
  private withdrawn: (status: number | null) => void = () => {}
  private isDestroyed = false
  private stopRetry = () => {}

  /** @throws VoiceError TOKEN_INVALID */
  constructor(token: string, server: string | undefined, events: RegistrationEvents) {
    this.token = token
    this.known = readToken(token)
    this.server = server
    this.events = events
  }

  get claims(): Claims {
    return this.known
  }

  get isAway(): boolean {
    return this.standing === 'away'
  }

  get isConnected(): boolean {
    return this.line?.isConnected === true
  }

  /** The line for a call. @throws VoiceError when none can be made now */
  ready(): Line {
    if (this.standing === 'here' && this.line) return this.line
    if (this.standing === 'reconnecting') throw new VoiceError('TRANSPORT_LOST', 'The connection is broken')
    if (this.known.until <= Date.now()) throw new VoiceError('TOKEN_EXPIRED', 'The token has expired')
    throw new VoiceError('NOT_REGISTERED', 'Call register() first')
  }

  /** Resolves once the server has confirmed. */
  async enter(): Promise<void> {
    if (this.isDestroyed) throw destroyed()
    const credentials = await fetchCredentials(this.baseUrl, this.token, this.generation !== null)
    if (this.isDestroyed) throw destroyed()
    this.generation ??= credentials.sip.generation
    const confirmed = new Promise<void>((resolve, reject) => {
      this.entered = { resolve, reject }
    })
    // A line that was kept for its calls serves again.
    if (this.line?.isConnected) {
      this.take(credentials)
      this.line.register()
    } else this.open(credentials, this.generation)
    await confirmed.finally(() => {
      this.entered = null
    })
  }

  /** @throws VoiceError for another user, or when the server gives no credentials for it: the old one is kept */
  async update(token: string): Promise<void> {
    const claims = readToken(token)
    if (claims.user !== this.known.user)
      throw new VoiceError('AUTH_ERROR', 'The token is of another user: make a new Device for it')
    if (this.generation !== null) this.take(await fetchCredentials(this.baseUrl, token, true))
    this.token = token
    this.known = claims
  }

  /** @throws VoiceError UNREGISTER_ERROR */
  async withdraw(): Promise<void> {
    const isHere = this.standing === 'here'
    const answered = new Promise<number | null>((resolve) => {
      this.withdrawn = resolve
    })
    if (isHere) this.line?.withdraw()
    this.leave('requested')
    const status = isHere ? await answered : 200
    this.retire()
    if (status === null || status >= 300) throw new VoiceError('UNREGISTER_ERROR', 'The server did not confirm', status)
  }

  /** Closes the line unless somebody is registered over it, or talks. */
  retire(): void {
    if (this.standing === 'away' && !this.entered && !this.events.isBusy()) this.stopLine()
  }

  destroy(): void {
    this.isDestroyed = true
    this.standing = 'away'
    this.stopRetry()
    this.stopLine()
    this.entered?.reject(destroyed())
  }

  private get baseUrl(): string {
    return (this.server ?? this.known.issuer).replace(/\/+$/, '')
  }

  private open(credentials: Credentials, generation: number): void {
    this.stopLine()
    this.iceServers = credentials.ice_servers
    this.line = new Line(credentials, generation, {
      registered: () => this.arrived(),
      refused: (status, reason) => this.refused(status, reason),
      broken: () => this.broken(),
      dismissed: (code) => this.dismissed(code),
      withdrawn: (status) => this.withdrawn(status),
      invited: this.events.invited,
      said: this.events.said,
    })
    this.line.start()
  }

  private stopLine(): void {
    this.line?.stop()
    this.line = null
    // Without the line there is nobody left who could confirm it, nor anything to confirm.
    this.withdrawn(200)
  }

  private take(credentials: Credentials): void {
    this.iceServers = credentials.ice_servers
    this.line?.set(credentials)
  }

  private arrived(): void {
    const { standing } = this
    this.standing = 'here'
    this.stopRetry()
    if (standing === 'reconnecting') this.events.reconnected()
    else this.events.registered()
    this.entered?.resolve()
  }

  private broken(): void {
    this.events.broken()
    if (this.entered) this.refuse(new VoiceError('TRANSPORT_LOST', 'The server cannot be reached'))
    else if (this.standing === 'here') this.wait()
  }

  /** Until the server has us again. */
  private wait(): void {
    this.standing = 'reconnecting'
    this.events.reconnecting()
  }

  private refused(status: number | null, reason: string): void {
    if (this.entered) this.refuse(refusal(status, reason))
    else if (this.standing === 'away') return
    else if (status === 401 || status === 403) void this.learnWhy()
    else {
      this.events.refused(refusal(status, reason))
      if (this.standing === 'here') this.wait()
      this.retry()
    }
  }

  private refuse(error: VoiceError): void {
    this.entered?.reject(error)
    this.entered = null
    this.retire()
  }

  private retry(): void {
    this.stopRetry()
    const timer = setTimeout(() => this.line?.register(), retryMs)
    this.stopRetry = () => clearTimeout(timer)
  }

  /** A registrar says only that we may not; whoever gives the credentials tells why. */
  private async learnWhy(): Promise<void> {
    const { line } = this
    try {
      const credentials = await fetchCredentials(this.baseUrl, this.token, true)
      if (line !== this.line || this.isAway) return
      if (credentials.sip.generation > (this.generation ?? 0)) return this.leave('replaced')
      this.take(credentials)
      this.retry()
    } catch (error) {
      if (line !== this.line || this.isAway) return
      if (!(error instanceof VoiceError) || error.code === 'CONFIG_FETCH_FAILED') return this.retry()
      this.leave(error.code === 'AUTH_ERROR' ? 'suspended' : 'expired')
    }
  }

  private dismissed(code: number): void {
    const reason = dismissals[code] ?? 'suspended'
    if (this.entered) this.refuse(refusal(403, reason))
    this.stopLine()
    if (!this.isAway) this.leave(reason)
  }

  private leave(reason: UnregisterReason): void {
    this.standing = 'away'
    this.stopRetry()
    // Whoever was replaced and registers again is a new device.
    if (reason === 'replaced') this.generation = null
    if (reason !== 'requested') this.retire()
    this.events.left(reason)
  }
}
