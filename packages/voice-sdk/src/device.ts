import type { RTCSession } from 'jssip/lib/RTCSession'
import { Call, type CallGround } from './call.ts'
import { Emitter } from './emitter.ts'
import { VoiceError } from './fault.ts'
import { readHeaders } from './headers.ts'
import { closeStream, openMicrophone, Ringtone } from './media.ts'
import type { DeviceEvents, DeviceOptions, Dial, LogLevel, UnregisterReason } from './options.ts'
import { Registration } from './registration.ts'

const levels: readonly LogLevel[] = ['silent', 'error', 'warn', 'info', 'debug']
const leadMs = 60_000

type About = Pick<CallGround, 'direction' | 'remoteIdentity' | 'customHeaders' | 'microphone'>

/** A browser as a telephone of one user: it is registered, makes calls, and is called. */
export class Device extends Emitter<DeviceEvents> {
  private readonly options: DeviceOptions
  private readonly ringtone: Ringtone
  private readonly registration: Registration
  private readonly calls = new Set<Call>()
  private readonly waiting: (() => void)[] = []
  private entering: Promise<void> | null = null
  private stopWarning = () => {}

  /** @throws VoiceError TOKEN_INVALID */
  constructor(options: DeviceOptions) {
    super()
    this.options = options
    this.ringtone = new Ringtone(options.ringtoneUrl)
    this.registration = new Registration(options.token, options.baseUrl, {
      registered: () => this.tell('info', 'registered'),
      reconnecting: () => this.tell('warn', 'reconnecting'),
      reconnected: () => {
        for (const run of this.waiting.splice(0)) run()
        for (const call of this.calls) call.check()
        this.tell('info', 'reconnected')
      },
      broken: () => {
        for (const call of this.calls) call.connectionLost()
      },
      left: (reason) => this.left(reason),
      refused: (error) => {
        this.log('warn', error.message)
        this.emit('error', error)
      },
      invited: (session, headers) => this.invited(session, headers),
      said: (line) => this.log('debug', line),
      isBusy: () => this.calls.size > 0,
    })
    addEventListener('pagehide', this.depart)
  }

  /** Resolves once the server has confirmed. @throws VoiceError TOKEN_…, AUTH_ERROR, CONFIG_FETCH_FAILED, REGIST… */
  register(): Promise<void> {
    if (!this.registration.isAway) return Promise.resolve()
    if (!this.entering) {
      this.warn()
      this.entering = this.registration.enter().finally(() => {
        this.entering = null
      })
    }
    return this.entering
  }

  /** Resolves once the call is on its way. @throws VoiceError NOT_REGISTERED, TOKEN_EXPIRED, MEDIA_…, CALL_FAILED … */
  async connect({ to, from, callerId, headers }: Dial): Promise<Call> {
    const number = to.startsWith('USR') ? to : to.replace(/[\s().-]/g, '')
    if (!/^\+?[\w*#]+$|^USR[\w-]+$/.test(number)) throw new VoiceError('CALL_FAILED', `Nobody can dial "${to}"`)
    this.registration.ready()
    const microphone = await openMicrophone(this.options.media?.inputDeviceId)
    try {
      const line = this.registration.ready()
      const own = { ...readHeaders(this.options.defaultExtraHeaders), ...readHeaders(headers) }
      const shown = callerId ?? from
      const sent = shown ? { ...own, 'Caller-Id': shown } : own
      this.log('info', `calling ${number}`)
      const session = line.call(number, microphone, this.iceServers, sent)
      const call = this.add(session, { direction: 'outbound', remoteIdentity: number, customHeaders: own, microphone })
      await call.sent()
      return call
    } catch (error) {
      closeStream(microphone)
      throw error instanceof VoiceError ? error : new VoiceError('CALL_FAILED', 'The call failed', null, error)
    }
  }

  /** Goes on with another token of the same user; nothing is registered anew. @throws VoiceError and keeps the old one */
  async updateToken(token: string): Promise<void> {
    await this.registration.update(token)
    this.warn()
  }

  /** Calls go on; no new ones come. @throws VoiceError UNREGISTER_ERROR when the server did not confirm */
  unregister(): Promise<void> {
    return this.registration.isAway ? Promise.resolve() : this.registration.withdraw()
  }

  /** Ends everything: calls, registration, connection, events. */
  destroy(): void {
    removeEventListener('pagehide', this.depart)
    this.stopWarning()
    for (const call of this.calls) call.disconnect()
    this.registration.destroy()
    this.forgetListeners()
  }

  private get iceServers(): RTCIceServer[] {
    return this.options.iceServers ?? this.registration.iceServers
  }

  /** Who calls goes on to ring: the page may only be loaded anew. */
  private readonly depart = (): void => {
    const isRinging = (call: Call) => call.direction === 'inbound' && call.getStatus() !== 'accepted'
    for (const call of this.calls) if (!isRinging(call)) call.disconnect()
  }

  private left(reason: UnregisterReason): void {
    this.stopWarning()
    this.log(reason === 'requested' ? 'info' : 'warn', `unregistered: ${reason}`)
    if (reason === 'expired') this.emit('error', new VoiceError('TOKEN_EXPIRED', 'The token has expired'))
    this.emit('unregistered', { reason })
  }

  private warn(): void {
    this.stopWarning()
    const { until } = this.registration.claims
    const left = until - Date.now()
    const lead = this.options.tokenExpiryLeadMs ?? leadMs
    // A token shorter than the lead is warned of half way: not at once, and at once again after the next one.
    const timer = setTimeout(
      () => this.emit('tokenWillExpire', { expiresAt: new Date(until) }),
      Math.max(0, left > lead ? left - lead : left / 2),
    )
    this.stopWarning = () => clearTimeout(timer)
  }

  private invited(session: RTCSession, headers: Record<string, string>): void {
    const isBusy = this.calls.size > 0 && !this.options.allowIncomingWhileBusy
    if (isBusy || this.registration.isAway) {
      session.terminate({ status_code: isBusy ? 486 : 480 })
      return
    }
    const remoteIdentity = session.remote_identity.uri.user
    const call = this.add(session, { direction: 'inbound', remoteIdentity, customHeaders: headers, microphone: null })
    this.log('info', `called by ${remoteIdentity}`)
    this.ringtone.start(call, this.options.media?.outputDeviceId)
    call.on('accepted', () => this.ringtone.stop(call))
    this.emit('incoming', call)
  }

  private add(session: RTCSession, about: About): Call {
    const call: Call = new Call(session, {
      ...about,
      media: this.options.media ?? {},
      iceServers: this.iceServers,
      isConnected: () => this.registration.isConnected,
      later: (run) => this.waiting.push(run),
      over: () => {
        this.ringtone.stop(call)
        this.calls.delete(call)
        // JsSIP still has to send its last word.
        setTimeout(() => this.registration.retire())
      },
    })
    this.calls.add(call)
    return call
  }

  private tell(level: 'info' | 'warn', what: 'registered' | 'reconnecting' | 'reconnected'): void {
    this.log(level, what)
    this.emit(what, undefined)
  }

  private log(level: Exclude<LogLevel, 'silent'>, text: string): void {
    const wanted = levels.indexOf(this.options.logLevel ?? 'warn')
    if (levels.indexOf(level) <= wanted) console[level](`trunkline: ${text}`)
  }
}
