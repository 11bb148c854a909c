import { type Credentials, fetchCredentials } from './credentials.ts'
import type { UnregisterReason } from './options.ts'
import { SipConnection, type SipConnectionEvents } from './sip-connection.ts'
import { type Claims, readToken } from './token.ts'
import { VoiceError } from './voice-error.ts'

export type RegistrationEvents = Pick<SipConnectionEvents, 'incomingCall' | 'messageLine'> & {
  registered(): void
  reconnected(): void
  reconnecting(): void
  /** The connection broke, registered or not. */
  disconnected(): void
  unregistered(reason: UnregisterReason): void
  /** The server refused to renew the registration. It is retried automatically. */
  refused(error: VoiceError): void
  /** Whether a call is in progress, which needs the connection. */
  isBusy(): boolean
}

/** Close codes of the server. */
const closeReasons: Record<number, UnregisterReason> = { 4001: 'replaced', 4002: 'expired', 4003: 'suspended' }
/** Delay before a refused registration is retried, ms. */
const retryMs = 5_000

type RegistrationState = 'away' | 'here' | 'reconnecting'

const refusalError = (status: number | null, reason: string): VoiceError => {
  if (status === null) return new VoiceError('REGISTER_ERROR', `The registration was not answered: ${reason}`)
  const code = [401, 403, 407].includes(status) ? 'AUTH_ERROR' : 'REGISTRATION_FAILED'
  return new VoiceError(code, `The registration was refused: ${reason} (${status})`, status)
}

const destroyedError = () => new VoiceError('NOT_REGISTERED', 'The Device was destroyed')

/** Registers at the server with a token. Handles broken connections, refusals and newer devices. */
export class Registration {
  iceServers: RTCIceServer[] = []
  private readonly server: string | undefined
  private readonly events: RegistrationEvents
  private token: string
  private currentClaims: Claims
  private connection: SipConnection | null = null
  /**
   * Generation of this device; the newest device of a user has the registration. Null before the first registration.
   */
  private generation: number | null = null
  private state: RegistrationState = 'away'
  private pendingRegistration: { resolve(): void; reject(error: VoiceError): void } | null = null
  private resolveUnregister: (status: number | null) => void = () => {}
  private isDestroyed = false
  private stopRetry = () => {}

  /** @throws VoiceError TOKEN_INVALID */
  constructor(token: string, server: string | undefined, events: RegistrationEvents) {
    this.token = token
    this.currentClaims = readToken(token)
    this.server = server
    this.events = events
  }

  get claims(): Claims {
    return this.currentClaims
  }

  get isUnregistered(): boolean {
    return this.state === 'away'
  }

  get isConnected(): boolean {
    return this.connection?.isConnected === true
  }

  /** Returns the connection for a call. @throws VoiceError if no call can be made now */
  requireConnection(): SipConnection {
    if (this.state === 'here' && this.connection) return this.connection
    if (this.state === 'reconnecting') throw new VoiceError('TRANSPORT_LOST', 'The connection is broken')
    if (this.currentClaims.until <= Date.now()) throw new VoiceError('TOKEN_EXPIRED', 'The token has expired')
    throw new VoiceError('NOT_REGISTERED', 'Call register() first')
  }

  /** Registers. Resolves once the server has confirmed. */
  async register(): Promise<void> {
    if (this.isDestroyed) throw destroyedError()
    const credentials = await fetchCredentials(this.baseUrl, this.token, this.generation !== null)
    if (this.isDestroyed) throw destroyedError()
    this.generation ??= credentials.sip.generation
    const confirmed = new Promise<void>((resolve, reject) => {
      this.pendingRegistration = { resolve, reject }
    })
    // Reuses a connection that was left open for its calls.
    if (this.connection?.isConnected) {
      this.applyCredentials(credentials)
      this.connection.register()
    } else this.openConnection(credentials, this.generation)
    await confirmed.finally(() => {
      this.pendingRegistration = null
    })
  }

  /** Replaces the token. @throws VoiceError for another user or without credentials; the old token stays in use */
  async updateToken(token: string): Promise<void> {
    const claims = readToken(token)
    if (claims.user !== this.currentClaims.user)
      throw new VoiceError('AUTH_ERROR', 'The token belongs to another user: create a new Device for it')
    if (this.generation !== null) this.applyCredentials(await fetchCredentials(this.baseUrl, token, true))
    this.token = token
    this.currentClaims = claims
  }

  /** @throws VoiceError UNREGISTER_ERROR */
  async unregister(): Promise<void> {
    const isHere = this.state === 'here'
    const answered = new Promise<number | null>((resolve) => {
      this.resolveUnregister = resolve
    })
    if (isHere) this.connection?.unregister()
    this.endRegistration('requested')
    const status = isHere ? await answered : 200
    this.closeIfIdle()
    if (status === null || status >= 300) throw new VoiceError('UNREGISTER_ERROR', 'The server did not confirm', status)
  }

  /** Closes the connection unless it has a registration or a call. */
  closeIfIdle(): void {
    if (this.state === 'away' && !this.pendingRegistration && !this.events.isBusy()) this.closeConnection()
  }

  destroy(): void {
    this.isDestroyed = true
    this.state = 'away'
    this.stopRetry()
    this.closeConnection()
    this.pendingRegistration?.reject(destroyedError())
  }

  private get baseUrl(): string {
    return (this.server ?? this.currentClaims.issuer).replace(/\/+$/, '')
  }

  private openConnection(credentials: Credentials, generation: number): void {
    this.closeConnection()
    this.iceServers = credentials.ice_servers
    this.connection = new SipConnection(credentials, generation, {
      registered: () => this.handleRegistered(),
      refused: (status, reason) => this.handleRefusal(status, reason),
      disconnected: () => this.handleDisconnect(),
      closedByServer: (code) => this.handleServerClose(code),
      unregistered: (status) => this.resolveUnregister(status),
      incomingCall: this.events.incomingCall,
      messageLine: this.events.messageLine,
    })
    this.connection.start()
  }

  private closeConnection(): void {
    this.connection?.stop()
    this.connection = null
    // Without a connection, a pending unregister() needs no confirmation.
    this.resolveUnregister(200)
  }

  private applyCredentials(credentials: Credentials): void {
    this.iceServers = credentials.ice_servers
    this.connection?.setCredentials(credentials)
  }

  private handleRegistered(): void {
    const { state } = this
    this.state = 'here'
    this.stopRetry()
    if (state === 'reconnecting') this.events.reconnected()
    else this.events.registered()
    this.pendingRegistration?.resolve()
  }

  private handleDisconnect(): void {
    this.events.disconnected()
    if (this.pendingRegistration)
      this.failRegistration(new VoiceError('TRANSPORT_LOST', 'The server cannot be reached'))
    else if (this.state === 'here') this.markReconnecting()
  }

  /** Marks the device as reconnecting until the server confirms the registration again. */
  private markReconnecting(): void {
    this.state = 'reconnecting'
    this.events.reconnecting()
  }

  private handleRefusal(status: number | null, reason: string): void {
    if (this.pendingRegistration) this.failRegistration(refusalError(status, reason))
    else if (this.state === 'away') return
    else if (status === 401 || status === 403) void this.diagnoseRefusal()
    else {
      this.events.refused(refusalError(status, reason))
      if (this.state === 'here') this.markReconnecting()
      this.retry()
    }
  }

  private failRegistration(error: VoiceError): void {
    this.pendingRegistration?.reject(error)
    this.pendingRegistration = null
    this.closeIfIdle()
  }

  private retry(): void {
    this.stopRetry()
    const timer = setTimeout(() => this.connection?.register(), retryMs)
    this.stopRetry = () => clearTimeout(timer)
  }

  /** Requests new credentials to learn the reason of a refusal, which a registrar does not give. */
  private async diagnoseRefusal(): Promise<void> {
    const { connection } = this
    try {
      const credentials = await fetchCredentials(this.baseUrl, this.token, true)
      if (connection !== this.connection || this.isUnregistered) return
      if (credentials.sip.generation > (this.generation ?? 0)) return this.endRegistration('replaced')
      this.applyCredentials(credentials)
      this.retry()
    } catch (error) {
      if (connection !== this.connection || this.isUnregistered) return
      if (!(error instanceof VoiceError) || error.code === 'CONFIG_FETCH_FAILED') return this.retry()
      this.endRegistration(error.code === 'AUTH_ERROR' ? 'suspended' : 'expired')
    }
  }

  private handleServerClose(code: number): void {
    const reason = closeReasons[code] ?? 'suspended'
    if (this.pendingRegistration) this.failRegistration(refusalError(403, reason))
    this.closeConnection()
    if (!this.isUnregistered) this.endRegistration(reason)
  }

  private endRegistration(reason: UnregisterReason): void {
    this.state = 'away'
    this.stopRetry()
    // A replaced device that registers again counts as a new device.
    if (reason === 'replaced') this.generation = null
    if (reason !== 'requested') this.closeIfIdle()
    this.events.unregistered(reason)
  }
}
