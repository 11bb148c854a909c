import { makeSerialQueue } from '../../../platform/lib/serial-queue.ts'
import type { MediaEvents, MediaLeg } from '../../../ports/media.ts'
import type { VoiceCodeEntry, VoicePlan } from '../../../ports/voice.ts'
import type { CallDeps } from './bridged-call.ts'
import { CallAccounting } from './call-accounting.ts'
import type { CallLeg, CallLegEvents } from './call-leg.ts'
import type { CallTimeline } from './call-timeline.ts'
import { Forking, type ForkingResult } from './forking.ts'
import { causeOfMedia, causeOfRefusal, failure, type HangupCause, hungUp, redactedFailure } from './hangup-cause.ts'

/** The tone that asks for keys: hertz, and milliseconds of sound and of silence. */
const tone = { hertz: 440, onMs: 600, offMs: 1_400 }

export type PlatformCallDeps = Omit<CallDeps, 'gone'> & { gone(): void }

/** A call that the platform places: the callee hears a tone and enters digits on the keypad. */
export class PlatformCall {
  private readonly deps: PlatformCallDeps
  private readonly plan: VoicePlan
  private readonly entry: VoiceCodeEntry
  private readonly timeline: CallTimeline
  private readonly accounting: CallAccounting
  private forking: Forking | null = null
  private leg: CallLeg | null = null
  private cause: HangupCause | null = null
  /** Settles once the answer is persisted; the end is persisted after it. */
  private answerPersisted: Promise<unknown> = Promise.resolve()
  private release = () => {}
  private readonly timers = new Map<string, () => void>()
  private isAnswered = false
  private typed = ''
  /** The callee's key transport, fixed by its first key: some telephones send each key in both. */
  private keyTransport: 'rtp' | 'info' | null = null
  /** One entry is judged at a time; keys pressed meanwhile belong to the next. */
  private readonly checkQueue = makeSerialQueue()

  constructor(deps: PlatformCallDeps, plan: VoicePlan, entry: VoiceCodeEntry) {
    this.deps = deps
    this.plan = plan
    this.entry = entry
    this.timeline = deps.timelines.begin()
    this.timeline.setCall(plan.call)
    this.accounting = new CallAccounting(deps.gateway, plan, (ending) => this.end(ending))
  }

  get callId(): string {
    return this.plan.call
  }

  /** Resolves once the call is answered or over; an answered call may end later. */
  async run(): Promise<void> {
    try {
      await this.begin()
    } catch (error) {
      this.deps.gateway.onError(error)
      this.end(failure(500, 'Something went wrong on our side'))
    }
  }

  end(ending: HangupCause): void {
    if (this.cause) return
    this.cause = ending
    for (const stop of this.timers.values()) stop()
    this.forking?.cancel()
    void this.leg?.session?.bye()
    this.accounting.stop()
    void this.conclude(ending)
  }

  private async begin(): Promise<void> {
    const { gateway, registrar, trunks, timelines } = this.deps
    const opened = await gateway.media.openCall(this.mediaEvents())
    if (opened.outcome === 'refused') return this.end(causeOfMedia(opened))
    this.accounting.media = opened.value
    // The call ended meanwhile, and its end did not know the media.
    if (this.cause) return opened.value.close()
    this.forking = new Forking({
      ...{
        gateway,
        registrar,
        trunks,
        media: opened.value,
        caller: null,
        plan: this.plan,
        codecs: ['pcmu', 'pcma'],
      },
      ...{ headers: [], side: this.legEvents() },
      events: {
        ringing: (target) => void gateway.callControl.ringing(this.plan.call, target).catch(gateway.onError),
        early: () => {},
        dialled: (callId) => timelines.follow(this.timeline, callId, 'callee'),
      },
    })
    const found = await this.forking.run()
    if (this.cause) {
      if ('ending' in found) return
      found.release()
      await found.leg.session?.bye()
    } else if ('ending' in found) this.end(found.ending)
    else await this.answered(found)
  }

  private async answered({ target, leg, release }: Exclude<ForkingResult, { ending: HangupCause }>): Promise<void> {
    this.release = release
    this.leg = leg
    this.accounting.legs = [leg]
    const { session } = leg
    if (!session) return
    const admission = this.deps.gateway.callControl.answered(this.plan.call, target, [leg.snapshot(session.dialog)])
    this.answerPersisted = admission.catch(() => {})
    const agreed = await admission
    if (this.cause) return
    if ('refused' in agreed) return this.end(causeOfRefusal(agreed.refused))
    if (session.isEnded) return this.end(hungUp('callee'))
    this.isAnswered = true
    this.accounting.start()
    this.after('entry', this.entry.seconds * 1_000, () =>
      this.end({ how: 'entry_timeout', status: 200, reason: `No code within ${this.entry.seconds} s`, by: null }),
    )
    void leg.media.listenForKeys()
    this.playTone(leg.media)
  }

  /** Repeats the tone until a key is pressed. */
  private playTone(media: MediaLeg): void {
    void media.playTone(tone.hertz).then((played) => {
      if (played.outcome === 'refused')
        this.timeline.add({ leg: 'callee', what: 'media', text: `no tone is played: ${played.reason}` })
    })
    this.after('tone', tone.onMs, () => {
      void media.playTone(null)
      this.after('tone', tone.offMs, () => this.playTone(media))
    })
  }

  private stopTone(): void {
    this.timers.get('tone')?.()
    void this.leg?.media.playTone(null)
  }

  private press(way: 'rtp' | 'info', key: string): void {
    if (!this.isAnswered || this.cause) return
    this.keyTransport ??= way
    if (this.keyTransport !== way) return
    this.stopTone()
    this.typed = /\d/.test(key) ? this.typed + key : ''
    if (this.typed.length < this.entry.length) return
    const typed = this.typed
    this.typed = ''
    void this.checkQueue(() => this.judge(typed))
  }

  private async judge(typed: string): Promise<void> {
    if (this.cause) return
    try {
      const verdict = await this.entry.check(typed)
      if (verdict !== 'again') this.end({ how: 'completed', status: 200, reason: verdict.done, by: null })
      else if (this.leg && !this.cause && this.typed === '') this.playTone(this.leg.media)
    } catch (error) {
      this.deps.gateway.onError(error)
      this.end(failure(500, 'The code could not be checked'))
    }
  }

  private async conclude(ending: HangupCause): Promise<void> {
    await this.answerPersisted
    await this.accounting.conclude(ending).catch(this.deps.gateway.onError)
    this.deps.timelines.end(this.timeline)
    this.release()
    this.deps.gone()
  }

  private mediaEvents(): MediaEvents {
    return {
      connected: (leg) => this.timeline.addMedia(leg, 'the audio is connected'),
      // The keys are secret and never traced.
      dtmf: (_, digit) => this.press('rtp', digit),
      // Telephones suppress silence, and the call is short.
      silence: () => {},
      dropped: (leg, from, expected) =>
        this.timeline.addMedia(leg, `packets from ${from} are dropped, they are expected from ${expected}`),
      failed: (leg, reason) => {
        this.timeline.addMedia(leg, `the audio failed: ${reason}`)
        if (leg === null || leg === this.leg?.media.id) this.end(redactedFailure(500, reason))
      },
    }
  }

  private legEvents(): CallLegEvents {
    return {
      ended: (_, why) => {
        if (!this.isAnswered) return
        if (why === 'remote') this.end(hungUp('callee'))
        else if (why !== 'local')
          this.end({ how: 'interrupted', status: 408, reason: `The callee is gone: ${why}`, by: 'callee' })
      },
      note: ({ name }, text) => this.timeline.add({ leg: name, what: 'note', text }),
      undescribed: () => {},
      pressed: (key) => this.press('info', key),
    }
  }

  private after(name: string, milliseconds: number, run: () => void): void {
    this.timers.get(name)?.()
    if (!this.cause) this.timers.set(name, this.deps.gateway.agent.timers.after(milliseconds, run))
  }
}
