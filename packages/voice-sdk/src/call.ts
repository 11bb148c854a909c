import { C } from 'jssip'
import type { RTCSession } from 'jssip/lib/RTCSession'
import { closeStream, type MediaChoice, openMicrophone, play } from './audio-devices.ts'
import { type CallEnd, callEndOf, errorOf, lostCause, type SessionEnd } from './call-end.ts'
import { Emitter } from './emitter.ts'
import { isIceBroken, watchIce } from './ice-monitor.ts'
import { makeQualityMeter, type Quality } from './quality.ts'
import { VoiceError } from './voice-error.ts'

export type CallStatus = 'pending' | 'ringing' | 'accepted' | 'disconnected' | 'failed'

export type CallEvents = {
  ringing: undefined
  accepted: undefined
  /** Emitted exactly once, when the call ends for any reason. */
  disconnect: CallEnd
  mute: { readonly muted: boolean }
  /** Emitted for a hold by either side. */
  hold: { readonly onHold: boolean; readonly by: 'local' | 'remote' }
  /** Emitted every two seconds from the answer on. */
  quality: Quality
  error: VoiceError
}

/** @internal The services of the Device that a call uses. */
export type CallDeps = {
  readonly direction: 'inbound' | 'outbound'
  readonly remoteIdentity: string
  readonly customHeaders: Record<string, string>
  readonly microphone: MediaStream | null
  readonly media: MediaChoice
  readonly iceServers: RTCIceServer[]
  isConnected(): boolean
  /** Runs a function once the connection is restored. */
  onReconnect(run: () => void): void
  onEnd(call: Call): void
}

const qualityIntervalMs = 2_000
/**
 * Wait for further ICE candidates. The server needs no address of the browser, so the last candidate is not awaited.
 */
const candidateWaitMs = 250
const retryMs = 100

/** A call, from the first ring to its end. Created by a Device. */
export class Call extends Emitter<CallEvents> {
  readonly direction: 'inbound' | 'outbound'
  /** The number of the other side; for another user of the account, the uuid of that user. */
  readonly remoteIdentity: string
  /** Headers of the call that begin with `X-`, by name without that prefix. */
  readonly customHeaders: Readonly<Record<string, string>>
  private readonly rtc: RTCSession
  private readonly deps: CallDeps
  private readonly media: MediaChoice
  private readonly speaker = new Audio()
  private microphone: MediaStream | null
  private status: CallStatus = 'pending'
  private isAccepting = false
  private pendingReinvite: Promise<void> = Promise.resolve()
  private stopQuality = () => {}

  /** @internal */
  constructor(rtc: RTCSession, deps: CallDeps) {
    super()
    this.rtc = rtc
    this.deps = deps
    this.direction = deps.direction
    this.remoteIdentity = deps.remoteIdentity
    this.customHeaders = deps.customHeaders
    this.microphone = deps.microphone
    this.media = { ...deps.media }
    this.speaker.autoplay = true
    this.listen()
    if (rtc.connection) this.attachConnection(rtc.connection)
  }

  /** The session of JsSIP; its `connection` is the RTCPeerConnection. */
  get session(): { readonly connection: RTCPeerConnection } {
    return this.rtc
  }

  getStatus(): CallStatus {
    return this.status
  }

  /** Accepts an incoming call. @throws VoiceError MEDIA_DENIED, MEDIA_FAILED, CALL_FAILED */
  async accept(): Promise<void> {
    const isRinging = this.direction === 'inbound' && !this.isOver && this.status !== 'accepted'
    if (!isRinging || this.isAccepting) throw new VoiceError('CALL_FAILED', 'This call cannot be accepted')
    this.isAccepting = true
    try {
      const microphone = await openMicrophone(this.media.inputDeviceId)
      if (this.isOver) {
        closeStream(microphone)
        throw new VoiceError('CALL_FAILED', 'The caller has hung up')
      }
      this.microphone = microphone
      this.rtc.answer({ mediaStream: microphone, pcConfig: { iceServers: this.deps.iceServers } })
      this.attachConnection(this.rtc.connection)
    } finally {
      this.isAccepting = false
    }
  }

  /** Rejects an incoming call. @param code SIP status, 300 to 699 */
  reject(code = 486): void {
    if (this.direction !== 'inbound' || this.isOver || this.status === 'accepted')
      throw new VoiceError('CALL_FAILED', 'This call cannot be rejected')
    this.rtc.terminate({ status_code: code })
  }

  /** Hangs up, or cancels a call that is not answered yet. */
  disconnect(): void {
    if (this.isOver) return
    if (this.deps.isConnected()) this.rtc.terminate()
    else {
      this.deps.onReconnect(() => this.rtc.isEnded() || this.rtc.terminate())
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

  /**
   * Holds or resumes the call. Resolves when the other side has confirmed.
   * @throws VoiceError CALL_FAILED, TRANSPORT_LOST
   */
  hold(on = true): Promise<void> {
    const done = this.pendingReinvite.then(() => this.applyHold(on))
    this.pendingReinvite = done.catch(() => {})
    return done
  }

  isOnHold(): boolean {
    return this.rtc.isOnHold().local
  }

  /** Sends DTMF digits (RFC 4733): 0 to 9, *, #, A to D; a comma waits two seconds. @throws VoiceError CALL_FAILED */
  sendDigits(digits: string): void {
    if (!/^[0-9A-D*#,]+$/i.test(digits)) throw new VoiceError('CALL_FAILED', `Not DTMF digits: ${digits}`)
    if (this.isOver || this.status === 'pending')
      throw new VoiceError('CALL_FAILED', 'Digits can be sent only during a call')
    try {
      this.rtc.sendDTMF(digits, { transportType: C.DTMF_TRANSPORT.RFC2833, duration: 100, interToneGap: 70 })
    } catch (error) {
      // Browsers refuse tones until the sound of the call is connected, shortly after the answer.
      throw new VoiceError('CALL_FAILED', 'Digits can be sent once the call is connected: try again', null, error)
    }
  }

  /** Switches to another microphone. @throws VoiceError MEDIA_DENIED, MEDIA_FAILED */
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

  /** Switches to another output device, if the browser supports that. */
  async setOutputDevice(id: string): Promise<void> {
    if ('setSinkId' in this.speaker) await this.speaker.setSinkId(id)
    this.media.outputDeviceId = id
  }

  /** @internal Resolves once the INVITE is sent. @throws VoiceError CALL_FAILED */
  inviteSent(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.rtc.on('sending', () => resolve())
      this.on('disconnect', ({ message, status }) => reject(new VoiceError('CALL_FAILED', message, status)))
    })
  }

  /** @internal Handles a broken connection: an answered call continues, a ringing one ends. */
  handleDisconnect(): void {
    if (this.status !== 'accepted') this.rtc.terminate({ cause: lostCause })
  }

  /**
   * @internal Ends the call if the server does not know it (RFC 3261, 12.2.1.2); else repairs its media path if needed.
   */
  checkDialog(): void {
    if (this.rtc.isEnded()) return
    const eventHandlers = {
      onDialogError: () => this.rtc.isEnded() || this.rtc.terminate({ cause: lostCause }),
      // Only after a success: JsSIP ends a call whose re-INVITE is not answered.
      onSuccessResponse: () => this.restartIce(),
    }
    // Missing in the types of JsSIP: sends a request within the dialog.
    ;(this.rtc as unknown as InDialogSession).sendRequest('OPTIONS', { eventHandlers })
  }

  private get isOver(): boolean {
    return this.status === 'disconnected' || this.status === 'failed'
  }

  /** Restarts ICE while media is interrupted, as a new network has new addresses (RFC 8839, 4.4.1.1.1). */
  private restartIce(): void {
    const restart = { rtcOfferConstraints: { iceRestart: true } }
    const isInterrupted = () =>
      this.status === 'accepted' && this.deps.isConnected() && isIceBroken(this.rtc.connection)
    this.pendingReinvite = this.pendingReinvite.then(async () => {
      while (isInterrupted()) if (await this.reinvite((done) => this.rtc.renegotiate(restart, done))) return
    })
  }

  private listen(): void {
    const { rtc } = this
    rtc.on('progress', () => {
      if (this.status === 'pending') this.setStatus('ringing')
    })
    rtc.on('accepted', () => {
      this.setStatus('accepted')
      this.startQuality()
    })
    const ended = (end: SessionEnd) => {
      // JsSIP terminates a session when its re-INVITE fails, and throws if it has ended meanwhile.
      rtc.terminate = () => {}
      this.end(callEndOf(end, this.status === 'accepted'))
    }
    rtc.on('ended', ended)
    rtc.on('failed', ended)
    rtc.on('muted', () => this.emit('mute', { muted: true }))
    rtc.on('unmuted', () => this.emit('mute', { muted: false }))
    const emitHold = (onHold: boolean) => (event: { originator: string }) =>
      this.emit('hold', { onHold, by: event.originator === 'remote' ? 'remote' : 'local' })
    rtc.on('hold', emitHold(true))
    rtc.on('unhold', emitHold(false))
    // Differs for each description.
    let isReady: (() => void) | null = null
    rtc.on('icecandidate', ({ ready }) => {
      if (ready !== isReady) setTimeout(ready, candidateWaitMs)
      isReady = ready
    })
  }

  private setStatus(status: 'ringing' | 'accepted'): void {
    this.status = status
    this.emit(status, undefined)
  }

  private attachConnection(connection: RTCPeerConnection): void {
    watchIce(connection, () => {
      if (this.deps.isConnected()) this.checkDialog()
    })
    connection.addEventListener('track', ({ track }) => {
      this.speaker.srcObject = new MediaStream([track])
      play(this.speaker, this.media.outputDeviceId).catch((error) => {
        if (!this.isOver) this.emit('error', new VoiceError('MEDIA_FAILED', 'The audio cannot be played', null, error))
      })
    })
  }

  private startQuality(): void {
    const meter = makeQualityMeter(this.rtc.connection, () => this.rtc.isOnHold().local || this.rtc.isOnHold().remote)
    const timer = setInterval(async () => {
      const quality = await meter().catch(() => null)
      if (quality && !this.isOver) this.emit('quality', quality)
    }, qualityIntervalMs)
    this.stopQuality = () => clearInterval(timer)
  }

  /** Retries because JsSIP refuses while another re-INVITE of either side is in progress. */
  private async applyHold(on: boolean): Promise<void> {
    for (;;) {
      if (this.status !== 'accepted') throw new VoiceError('CALL_FAILED', 'Only an answered call can be held')
      if (this.isOnHold() === on) return
      if (!this.deps.isConnected()) throw new VoiceError('TRANSPORT_LOST', 'The connection to the server is broken')
      const isDone = await this.reinvite((done) => (on ? this.rtc.hold({}, done) : this.rtc.unhold({}, done)))
      if (isDone) return
    }
  }

  /** @returns false if it must be retried */
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
    this.stopQuality()
    closeStream(this.microphone)
    this.speaker.srcObject = null
    this.deps.onEnd(this)
    const error = errorOf(end)
    if (error) this.emit('error', error)
    this.emit('disconnect', end)
  }
}

type InDialogSession = { sendRequest(method: string, options: { eventHandlers: Record<string, () => void> }): void }
