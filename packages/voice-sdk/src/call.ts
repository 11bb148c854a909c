import { C } from 'jssip'
import type { RTCSession } from 'jssip/lib/RTCSession'
import { Emitter } from './emitter.ts'
import { type CallEnd, type Ended, errorOf, lostCause, readEnd } from './ending.ts'
import { VoiceError } from './fault.ts'
import { closeStream, type MediaChoice, openMicrophone, play } from './media.ts'
import { isBroken, watchPath } from './path.ts'
import { makeMeter, type Quality } from './quality.ts'

export type CallStatus = 'pending' | 'ringing' | 'accepted' | 'disconnected' | 'failed'

export type CallEvents = {
  ringing: undefined
  accepted: undefined
  /** Once, however it ended. */
  disconnect: CallEnd
  mute: { readonly muted: boolean }
  /** The other side holds too. */
  hold: { readonly onHold: boolean; readonly by: 'local' | 'remote' }
  /** Every two seconds while somebody talks. */
  quality: Quality
  error: VoiceError
}

/** @internal What a call needs of its Device. */
export type CallGround = {
  readonly direction: 'inbound' | 'outbound'
  readonly remoteIdentity: string
  readonly customHeaders: Record<string, string>
  readonly microphone: MediaStream | null
  readonly media: MediaChoice
  readonly iceServers: RTCIceServer[]
  isConnected(): boolean
  /** Once the connection is back. */
  later(run: () => void): void
  over(call: Call): void
}

const qualityMs = 2_000
/** A server of ours needs none of the browser's addresses: we do not wait for the last one. */
const candidatesMs = 250
const retryMs = 100

/** One call, from the first ring to its end. Made by a Device. */
export class Call extends Emitter<CallEvents> {
  readonly direction: 'inbound' | 'outbound'
  /** The number called, or the caller's; of another user of the account, their uuid. */
  readonly remoteIdentity: string
  /** Headers of the call that began with `X-`, without it. */
  readonly customHeaders: Readonly<Record<string, string>>
  private readonly rtc: RTCSession
  private readonly ground: CallGround
  private readonly media: MediaChoice
  private readonly speaker = new Audio()
  private microphone: MediaStream | null
  private status: CallStatus = 'pending'
  private isAccepting = false
  private changing: Promise<void> = Promise.resolve()
  private stopMeter = () => {}

  /** @internal */
  constructor(rtc: RTCSession, ground: CallGround) {
    super()
    this.rtc = rtc
    this.ground = ground
    this.direction = ground.direction
    this.remoteIdentity = ground.remoteIdentity
    this.customHeaders = ground.customHeaders
    this.microphone = ground.microphone
    this.media = { ...ground.media }
    this.speaker.autoplay = true
    this.listen()
    if (rtc.connection) this.hear(rtc.connection)
  }

  /** JsSIP's session; its `connection` is the RTCPeerConnection. */
  get session(): { readonly connection: RTCPeerConnection } {
    return this.rtc
  }

  getStatus(): CallStatus {
    return this.status
  }

  /** Takes a call that came in. @throws VoiceError MEDIA_DENIED, MEDIA_FAILED, CALL_FAILED */
  async accept(): Promise<void> {
    const isRinging = this.direction === 'inbound' && !this.isOver && this.status !== 'accepted'
    if (!isRinging || this.isAccepting) throw new VoiceError('CALL_FAILED', 'There is nothing to accept')
    this.isAccepting = true
    try {
      const microphone = await openMicrophone(this.media.inputDeviceId)
      if (this.isOver) {
        closeStream(microphone)
        throw new VoiceError('CALL_FAILED', 'The caller has hung up')
      }
      this.microphone = microphone
      this.rtc.answer({ mediaStream: microphone, pcConfig: { iceServers: this.ground.iceServers } })
      this.hear(this.rtc.connection)
    } finally {
      this.isAccepting = false
    }
  }

  /** Refuses a call that came in. @param code SIP status, 300 to 699 */
  reject(code = 486): void {
    if (this.direction !== 'inbound' || this.isOver || this.status === 'accepted')
      throw new VoiceError('CALL_FAILED', 'There is nothing to reject')
    this.rtc.terminate({ status_code: code })
  }

  /** Hangs up, or takes a call back that was not answered yet. */
  disconnect(): void {
    if (this.isOver) return
    if (this.ground.isConnected()) this.rtc.terminate()
    else {
      this.ground.later(() => this.rtc.isEnded() || this.rtc.terminate())
      this.end({ reason: 'hangup', by: 'local', status: null, message: '' })
    }
  }

  mute(on = true): void {
    if (this.isOver || on === this.isMuted()) return
    if (on) this.rtc.mute({ audio: true })
    else this.rtc.unmute({ audio: true })
  }

  isMuted(): boolean {
    return this.rtc.isMuted().audio === true
  }

  /** Resolves when the other side knows. @throws VoiceError CALL_FAILED, TRANSPORT_LOST */
  hold(on = true): Promise<void> {
    const done = this.changing.then(() => this.change(on))
    this.changing = done.catch(() => {})
    return done
  }

  isOnHold(): boolean {
    return this.rtc.isOnHold().local
  }

  /** Presses keys, by RFC 4733: 0 to 9, *, #, A to D; a comma waits for two seconds. @throws VoiceError CALL_FAILED */
  sendDigits(digits: string): void {
    if (!/^[0-9A-D*#,]+$/i.test(digits)) throw new VoiceError('CALL_FAILED', `These are no keys: ${digits}`)
    if (this.isOver || this.status === 'pending') throw new VoiceError('CALL_FAILED', 'Nobody can hear keys yet')
    this.rtc.sendDTMF(digits, { transportType: C.DTMF_TRANSPORT.RFC2833, duration: 100, interToneGap: 70 })
  }

  /** Speaks through another microphone from now on. @throws VoiceError MEDIA_DENIED, MEDIA_FAILED */
  async setInputDevice(id: string): Promise<void> {
    const before = this.microphone
    if (before) {
      const opened = await openMicrophone(id)
      const [track] = opened.getAudioTracks()
      const sender = this.rtc.connection.getSenders().find((one) => one.track?.kind === 'audio')
      if (this.isOver || !track || !sender) return closeStream(opened)
      track.enabled = sender.track?.enabled ?? true
      await sender.replaceTrack(track)
      this.microphone = opened
      closeStream(before)
    }
    this.media.inputDeviceId = id
  }

  /** Is heard through another device from now on, where the browser lets one choose. */
  async setOutputDevice(id: string): Promise<void> {
    if ('setSinkId' in this.speaker) await this.speaker.setSinkId(id)
    this.media.outputDeviceId = id
  }

  /** @internal Resolves once the INVITE has left. @throws VoiceError CALL_FAILED */
  sent(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.rtc.on('sending', () => resolve())
      this.on('disconnect', ({ message, status }) => reject(new VoiceError('CALL_FAILED', message, status)))
    })
  }

  /** @internal The connection broke: what was answered goes on, as its sound does; what only rang does not. */
  connectionLost(): void {
    if (this.status !== 'accepted') this.rtc.terminate({ cause: lostCause })
  }

  /** @internal Does the server still know of this call (RFC 3261, 12.2.1.2)? Its sound may need another way, too. */
  check(): void {
    if (this.rtc.isEnded()) return
    const eventHandlers = {
      onDialogError: () => this.rtc.isEnded() || this.rtc.terminate({ cause: lostCause }),
      // Asked before anything is changed: JsSIP ends a call whose change gets no answer.
      onSuccessResponse: () => this.mendPath(),
    }
    // Not among JsSIP's types: a request within the dialog, as its own are sent.
    ;(this.rtc as unknown as InDialog).sendRequest('OPTIONS', { eventHandlers })
  }

  private get isOver(): boolean {
    return this.status === 'disconnected' || this.status === 'failed'
  }

  /** Another network has other addresses: what stopped to flow is joined anew (RFC 8839, 4.4.1.1.1). */
  private mendPath(): void {
    const restart = { rtcOfferConstraints: { iceRestart: true } }
    const isWanted = () => this.status === 'accepted' && this.ground.isConnected() && isBroken(this.rtc.connection)
    this.changing = this.changing.then(async () => {
      while (isWanted()) if (await this.reinvite((done) => this.rtc.renegotiate(restart, done))) return
    })
  }

  private listen(): void {
    const { rtc } = this
    rtc.on('progress', () => {
      if (this.status === 'pending') this.become('ringing')
    })
    rtc.on('accepted', () => {
      this.become('accepted')
      this.measure()
    })
    const ended = (end: Ended) => this.end(readEnd(end, this.status === 'accepted'))
    rtc.on('ended', ended)
    rtc.on('failed', ended)
    rtc.on('muted', () => this.emit('mute', { muted: true }))
    rtc.on('unmuted', () => this.emit('mute', { muted: false }))
    const held = (onHold: boolean) => (event: { originator: string }) =>
      this.emit('hold', { onHold, by: event.originator === 'remote' ? 'remote' : 'local' })
    rtc.on('hold', held(true))
    rtc.on('unhold', held(false))
    // Another one for each description that is made.
    let isReady: (() => void) | null = null
    rtc.on('icecandidate', ({ ready }) => {
      if (ready !== isReady) setTimeout(ready, candidatesMs)
      isReady = ready
    })
  }

  private become(status: 'ringing' | 'accepted'): void {
    this.status = status
    this.emit(status, undefined)
  }

  private hear(connection: RTCPeerConnection): void {
    watchPath(connection, () => {
      if (this.ground.isConnected()) this.check()
    })
    connection.addEventListener('track', ({ track }) => {
      this.speaker.srcObject = new MediaStream([track])
      play(this.speaker, this.media.outputDeviceId).catch((error) => {
        if (!this.isOver) this.emit('error', new VoiceError('MEDIA_FAILED', 'The sound cannot be played', null, error))
      })
    })
  }

  private measure(): void {
    const meter = makeMeter(this.rtc.connection, () => this.rtc.isOnHold().local || this.rtc.isOnHold().remote)
    const timer = setInterval(async () => {
      const quality = await meter().catch(() => null)
      if (quality && !this.isOver) this.emit('quality', quality)
    }, qualityMs)
    this.stopMeter = () => clearInterval(timer)
  }

  /** JsSIP refuses while another change is under way, ours or theirs. */
  private async change(on: boolean): Promise<void> {
    for (;;) {
      if (this.status !== 'accepted') throw new VoiceError('CALL_FAILED', 'There is no call to hold')
      if (this.isOnHold() === on) return
      if (!this.ground.isConnected()) throw new VoiceError('TRANSPORT_LOST', 'The server cannot hear of it now')
      const isDone = await this.reinvite((done) => (on ? this.rtc.hold({}, done) : this.rtc.unhold({}, done)))
      if (isDone) return
    }
  }

  /** @returns false when it has to be tried again */
  private reinvite(begin: (done: () => void) => boolean): Promise<boolean> {
    return new Promise((resolve) => {
      const stop = this.on('disconnect', () => resolve(true))
      const done = (begun: boolean) => () => {
        stop()
        resolve(begun)
      }
      if (!begin(done(true))) setTimeout(done(false), retryMs)
    })
  }

  private end(end: CallEnd): void {
    if (this.isOver) return
    const isFailed = end.by !== 'local' && this.status !== 'accepted' && end.reason !== 'canceled'
    this.status = isFailed || end.reason === 'failed' ? 'failed' : 'disconnected'
    this.stopMeter()
    closeStream(this.microphone)
    this.speaker.srcObject = null
    this.ground.over(this)
    const error = errorOf(end)
    if (error) this.emit('error', error)
    this.emit('disconnect', end)
  }
}

type InDialog = { sendRequest(method: string, options: { eventHandlers: Record<string, () => void> }): void }
