import type { RTCSession } from 'jssip/lib/RTCSession'
import { closeStream, openMicrophone, Ringtone } from './audio-devices.ts'
import { Call, type CallDeps } from './call.ts'
import { Emitter } from './emitter.ts'
import { readHeaders } from './headers.ts'
import type { DeviceEvents, DeviceOptions, Dial, LogLevel, UnregisterReason } from './options.ts'
import { Registration } from './registration.ts'
import { VoiceError } from './voice-error.ts'

const levels: readonly LogLevel[] = ['silent', 'error', 'warn', 'info', 'debug']
const defaultLeadMs = 60_000

type CallInit = Pick<CallDeps, 'direction' | 'remoteIdentity' | 'customHeaders' | 'microphone'>

/** A browser as a telephone of one user. It registers and makes and receives calls. */
export class Device extends Emitter<DeviceEvents> {
  private readonly options: DeviceOptions
  private readonly ringtone: Ringtone
  private readonly registration: Registration
  private readonly calls = new Set<Call>()
  private readonly onReconnect: (() => void)[] = []
  private registering: Promise<void> | null = null
  private cancelExpiryWarning = () => {}

  /** @throws VoiceError TOKEN_INVALID */
  constructor(options: DeviceOptions) {
    super()
    this.options = options
    this.ringtone = new Ringtone(options.ringtoneUrl)
    this.registration = new Registration(options.token, options.baseUrl, {
      registered: () => this.emitAndLog('info', 'registered'),
      reconnecting: () => this.emitAndLog('warn', 'reconnecting'),
      reconnected: () => {
        for (const run of this.onReconnect.splice(0)) run()
        for (const call of this.calls) call.checkDialog()
        this.emitAndLog('info', 'reconnected')
      },
      disconnected: () => {
        for (const call of this.calls) call.handleDisconnect()
      },
      unregistered: (reason) => this.handleUnregistered(reason),
      refused: (error) => {
        this.log('warn', error.message)
        this.emit('error', error)
      },
      incomingCall: (session, headers) => this.handleInvite(session, headers),
      messageLine: (line) => this.log('debug', line),
      isBusy: () => this.calls.size > 0,
    })
    addEventListener('pagehide', this.handlePageHide)
  }

  /**
   * Registers. Resolves once the server has confirmed.
   * @throws VoiceError TOKEN_…, AUTH_ERROR, CONFIG_FETCH_FAILED, REGIST…
   */
  register(): Promise<void> {
    if (!this.registration.isUnregistered) return Promise.resolve()
    if (!this.registering) {
      this.scheduleExpiryWarning()
      this.registering = this.registration.register().finally(() => {
        this.registering = null
      })
    }
    return this.registering
  }

  /**
   * Calls a number or user. Resolves once the INVITE is sent.
   * @throws VoiceError NOT_REGISTERED, TOKEN_EXPIRED, MEDIA_…, CALL_FAILED …
   */
  async connect({ to, from, callerId, headers }: Dial): Promise<Call> {
    const number = to.startsWith('USR') ? to : to.replace(/[\s().-]/g, '')
    if (!/^\+?[\w*#]+$|^USR[\w-]+$/.test(number))
      throw new VoiceError('CALL_FAILED', `Not a valid destination: "${to}"`)
    this.registration.requireConnection()
    const microphone = await openMicrophone(this.options.media?.inputDeviceId)
    try {
      const line = this.registration.requireConnection()
      const own = { ...readHeaders(this.options.defaultExtraHeaders), ...readHeaders(headers) }
      const shown = callerId ?? from
      const sent = shown ? { ...own, 'Caller-Id': shown } : own
      this.log('info', `calling ${number}`)
      const session = line.call(number, microphone, this.iceServers, sent)
      const call = this.addCall(session, {
        direction: 'outbound',
        remoteIdentity: number,
        customHeaders: own,
        microphone,
      })
      await call.inviteSent()
      return call
    } catch (error) {
      closeStream(microphone)
      throw error instanceof VoiceError ? error : new VoiceError('CALL_FAILED', 'The call failed', null, error)
    }
  }

  /**
   * Continues with a new token of the same user, without registering again.
   * @throws VoiceError; the old token stays in use
   */
  async updateToken(token: string): Promise<void> {
    await this.registration.updateToken(token)
    this.scheduleExpiryWarning()
  }

  /**
   * Stops receiving calls; calls in progress continue.
   * @throws VoiceError UNREGISTER_ERROR if the server did not confirm
   */
  unregister(): Promise<void> {
    return this.registration.isUnregistered ? Promise.resolve() : this.registration.unregister()
  }

  /** Ends all calls, the registration, the connection and the events. */
  destroy(): void {
    removeEventListener('pagehide', this.handlePageHide)
    this.cancelExpiryWarning()
    for (const call of this.calls) call.disconnect()
    this.registration.destroy()
    this.forgetListeners()
  }

  private get iceServers(): RTCIceServer[] {
    return this.options.iceServers ?? this.registration.iceServers
  }

  /** Ends calls when the page closes, except incoming calls that ring: the page may only be reloading. */
  private readonly handlePageHide = (): void => {
    const isRinging = (call: Call) => call.direction === 'inbound' && call.getStatus() !== 'accepted'
    for (const call of this.calls) if (!isRinging(call)) call.disconnect()
  }

  private handleUnregistered(reason: UnregisterReason): void {
    this.cancelExpiryWarning()
    this.log(reason === 'requested' ? 'info' : 'warn', `unregistered: ${reason}`)
    if (reason === 'expired') this.emit('error', new VoiceError('TOKEN_EXPIRED', 'The token has expired'))
    this.emit('unregistered', { reason })
  }

  private scheduleExpiryWarning(): void {
    this.cancelExpiryWarning()
    const { until } = this.registration.claims
    const left = until - Date.now()
    const lead = this.options.tokenExpiryLeadMs ?? defaultLeadMs
    // Warns half way through a token that is shorter than the lead. Otherwise each new token would be warned of at
    // once.
    const timer = setTimeout(
      () => this.emit('tokenWillExpire', { expiresAt: new Date(until) }),
      Math.max(0, left > lead ? left - lead : left / 2),
    )
    this.cancelExpiryWarning = () => clearTimeout(timer)
  }

  private handleInvite(session: RTCSession, headers: Record<string, string>): void {
    const isBusy = this.calls.size > 0 && !this.options.allowIncomingWhileBusy
    if (isBusy || this.registration.isUnregistered) {
      session.terminate({ status_code: isBusy ? 486 : 480 })
      return
    }
    const remoteIdentity = session.remote_identity.uri.user
    const call = this.addCall(session, {
      direction: 'inbound',
      remoteIdentity,
      customHeaders: headers,
      microphone: null,
    })
    this.log('info', `called by ${remoteIdentity}`)
    this.ringtone.start(call, this.options.media?.outputDeviceId)
    call.on('accepted', () => this.ringtone.stop(call))
    this.emit('incoming', call)
  }

  private addCall(session: RTCSession, about: CallInit): Call {
    const call: Call = new Call(session, {
      ...about,
      media: this.options.media ?? {},
      iceServers: this.iceServers,
      isConnected: () => this.registration.isConnected,
      onReconnect: (run) => this.onReconnect.push(run),
      onEnd: () => {
        this.ringtone.stop(call)
        this.calls.delete(call)
        // Deferred: JsSIP still has to send its last message.
        setTimeout(() => this.registration.closeIfIdle())
      },
    })
    this.calls.add(call)
    return call
  }

  private emitAndLog(level: 'info' | 'warn', what: 'registered' | 'reconnecting' | 'reconnected'): void {
    this.log(level, what)
    this.emit(what, undefined)
  }

  private log(level: Exclude<LogLevel, 'silent'>, text: string): void {
    const threshold = levels.indexOf(this.options.logLevel ?? 'warn')
    if (levels.indexOf(level) <= threshold) console[level](`trunkline: ${text}`)
  }
}
