import { callIdOf } from '@trunkline/sip/fields.ts'
import { reasonPhrase } from '@trunkline/sip/response.ts'
import type { Flow } from '@trunkline/sip/transport/flow.ts'
import type { MediaCall, MediaCallOptions, MediaCodec, MediaEvents } from '../../../ports/media.ts'
import type { VoiceDecision, VoiceDialog, VoicePlan, VoiceTarget, VoiceUser } from '../../../ports/voice.ts'
import type { Registrar } from '../browsers/registrar.ts'
import { type GatewayDeps, isLocal } from '../gateway-deps.ts'
import { maxConnectionMs, reconnectMs } from '../limits.ts'
import type { TrunkRegistry } from '../trunks/trunk-registry.ts'
import { CallAccounting } from './call-accounting.ts'
import { CallLeg, type CallLegEvents } from './call-leg.ts'
import { CallMedia, type MediaLoan } from './call-media.ts'
import { type CallTimeline, type CallTimelines, sideOf, type TimelineEntry } from './call-timeline.ts'
import type { Caller } from './caller.ts'
import { ConnectedLegs } from './connected-legs.ts'
import { type AnsweredTarget, Forking, type ForkingSettings } from './forking.ts'
import {
  causeOfMedia,
  causeOfRefusal,
  failure,
  type HangupCause,
  hungUp,
  isCut,
  redactedFailure,
  undescribed,
} from './hangup-cause.ts'

/** Shared components of all calls. */
export type CallDeps = {
  readonly gateway: GatewayDeps
  readonly registrar: Registrar
  readonly trunks: TrunkRegistry
  readonly timelines: CallTimelines
}

/** Decides what happens in a call, from its plan on. The life cycle is that of the call. */
export type CallBehaviour = {
  /** Resolves once the call is answered or over; an answered call may end later. */
  run(): Promise<void>
  /** Whether silence of a party ends the call. */
  readonly endsOnSilence: boolean
  /** A key of a party, in its audio or as INFO. Absent: keys pass to the other leg. They are secret and never traced. */
  pressed?(way: 'rtp' | 'info', key: string, mediaLeg: string): void
  /** The peer of a leg began to speak, or ended. */
  spoke?(change: 'began' | 'ended', mediaLeg: string): void
  /** The call is over. */
  ended?(): void
}

/** What differs between calls from their beginning. */
export type CallOrigin = {
  /** Null for a call that the platform places. */
  readonly caller: Caller | null
  /** Id of a call that the platform places: it can be ended from the beginning. */
  readonly call?: string
  /** Asks call control for the plan of the call. */
  requestPlan(): Promise<VoiceDecision<VoicePlan>>
  behaviourOf(call: ActiveCall, plan: VoicePlan): CallBehaviour
}

/** The search of a call for the targets of its plan. */
type Search = Pick<ForkingSettings, 'media' | 'caller' | 'codecs' | 'headers' | 'legPrefix' | 'isScreened'> & {
  /** Ringing has been reported. */
  ringing?(): void
  /** Early media has started. */
  early?(): void
}

/**
 * The life of a call: its timeline, media, search, answer, accounting and timers, until call control has persisted its
 * end. Its behaviour decides what happens in between.
 */
export class ActiveCall {
  /** Searches for a target that answers; null before the search. */
  forking: Forking | null = null
  readonly caller: Caller | null
  /** The other side of a call to ourselves, which a cut ends for the same reason. */
  otherSide: ActiveCall | null = null
  private readonly deps: CallDeps
  private readonly origin: CallOrigin
  /** The call is over, and call control has persisted its end. */
  private readonly gone: () => void
  private readonly timeline: CallTimeline
  private plan: VoicePlan | null = null
  private behaviour: CallBehaviour | null = null
  private accounting: CallAccounting | null = null
  /** The media that the call opened, and closes at its end; or those of the call that dialled it. */
  private media: CallMedia | null = null
  private loan: MediaLoan | null = null
  private readonly mediaRelease = Promise.withResolvers<void>()
  private searching: Promise<unknown> = Promise.resolve()
  /** The parties that talk; none before the answer. */
  private legs: readonly CallLeg[] = []
  private cause: HangupCause | null = null
  /** The answer is reported to call control. */
  private isAnswered = false
  /** The answer is persisted, and every party knows it. */
  private isEstablished = false
  private ringingReported: Promise<unknown> = Promise.resolve()
  /** Settles once the answer is persisted; the end is persisted after it. */
  private answerPersisted: Promise<unknown> = Promise.resolve()
  /** Release the trunk channels that the call uses. */
  private readonly releases: (() => void)[] = []
  private readonly timers = new Map<string, () => void>()
  private readonly connectedLegs = new ConnectedLegs()

  constructor(deps: CallDeps, origin: CallOrigin, gone: () => void) {
    this.deps = deps
    this.origin = origin
    this.gone = gone
    this.caller = origin.caller
    this.timeline = deps.timelines.begin(origin.caller?.isWithheld)
    if (origin.caller) this.follow(origin.caller)
  }

  /** The call's id in call control, once it is known. */
  get callId(): string | null {
    return this.plan?.call ?? this.origin.call ?? null
  }

  /** The account of the call; null until it is known. */
  get account(): string | null {
    return this.plan?.account ?? this.caller?.person?.account ?? null
  }

  /** The connections of the call's browsers. A trunk that calls has one too. */
  get flows(): readonly Flow[] {
    const own = this.legs.flatMap(({ flow }) => flow ?? [])
    const [first] = this.legs
    // An answered leg may have moved to another connection.
    return this.caller && !first?.flow ? [this.caller.incoming.flow, ...own] : own
  }

  /** Whether the parties of the call talk. */
  get isTalking(): boolean {
    return this.isEstablished && !this.isOver
  }

  get isOver(): boolean {
    return this.cause !== null
  }

  /** Why the call ended; null before. */
  get ending(): HangupCause | null {
    return this.cause
  }

  /** Resolves once the call has ended, and uses its media no more. */
  get mediaReleased(): Promise<void> {
    return this.mediaRelease.promise
  }

  /** Milliseconds, by the clock of the user agent. */
  now(): number {
    return this.deps.gateway.agent.timers.now()
  }

  usesFlow(flow: Flow): boolean {
    return this.flows.some(({ id }) => id === flow.id)
  }

  involves(people: ReadonlySet<string>, key: (person: VoiceUser) => string): boolean {
    const own = [this.caller?.person ?? null, ...this.legs.map(({ person }) => person)]
    return own.some((person) => person !== null && people.has(key(person)))
  }

  /** Resolves once the call is answered or over; an answered call may end later. */
  async run(): Promise<void> {
    try {
      await this.begin()
    } catch (error) {
      this.deps.gateway.onError(error)
      this.end(failure(500, 'Something went wrong on our side'))
    }
    // Without a plan, call control need not learn of the end.
    if (!this.accounting) this.release()
  }

  /** Ends the call. Only the first reason counts. */
  end(ending: HangupCause): void {
    if (this.cause) return
    this.cause = ending
    for (const stop of this.timers.values()) stop()
    this.forking?.cancel()
    const status = ending.status >= 400 ? ending.status : 480
    // A quotation mark or a line feed would end the header.
    const reason = (ending.isRedacted ? reasonPhrase(status) : ending.reason)
      .replace(/[^\w +.,:;()'/-]/g, ' ')
      .slice(0, 120)
    this.caller?.incoming.refuse({ status, reason })
    const why = [['Reason', `SIP;cause=${ending.status || 200};text="${reason}"`]] as const
    for (const { session } of this.legs) void session?.bye({ headers: why })
    this.accounting?.stop()
    this.connectedLegs.endWait()
    this.behaviour?.ended?.()
    if (isCut(ending)) this.otherSide?.end(ending)
    if (this.accounting) void this.conclude(this.accounting, ending)
  }

  /** A browser's connection broke. An answered call continues for a while. */
  connectionLost(flow: Flow): void {
    if (!this.usesFlow(flow) || this.cause) return
    const side = this.legs.find((one) => one.flow?.id === flow.id)
    if (!this.isAnswered) {
      if (this.caller?.trunk === null && this.caller.incoming.flow.id === flow.id)
        this.end({ how: 'canceled', status: 487, reason: 'The connection of the caller broke', by: 'caller' })
    } else if (side) {
      this.note(side, 'the connection broke')
      this.after(`lost ${side.name}`, reconnectMs, () =>
        this.end({ how: 'interrupted', status: 408, reason: 'The browser did not come back', by: side.name }),
      )
    }
  }

  connectionMoved(from: Flow, to: Flow): void {
    for (const side of this.legs) {
      if (side.flow?.id !== from.id) continue
      this.stopTimer(`lost ${side.name}`)
      side.setFlow(to)
      this.note(side, 'the connection is back')
    }
  }

  // For behaviours.

  /** Opens the media of the call. Returns null if the call is over. */
  async openMedia(options: MediaCallOptions = {}): Promise<MediaCall | null> {
    const media = new CallMedia(this.mediaEvents())
    const opened = await this.deps.gateway.media.openCall(media.events, options)
    if (opened.outcome === 'refused') {
      this.end(causeOfMedia(opened))
      return null
    }
    // The call ended meanwhile, and its end did not know the media.
    if (this.cause) {
      await opened.value.close()
      return null
    }
    media.call = opened.value
    this.media = media
    if (this.accounting) this.accounting.media = opened.value
    return opened.value
  }

  /**
   * Uses the media of the call that dialled this one. Returns null if either is over.
   * @param party the leg of that call which takes part in this one
   * @param legPrefix of the ids of our legs
   */
  borrowMedia(lender: ActiveCall, party: CallLeg, legPrefix: string): MediaCall | null {
    if (this.cause || lender.cause || !this.accounting) return null
    this.loan = lender.media?.lend(legPrefix, this.mediaEvents()) ?? null
    if (!this.loan) return null
    Object.assign(this.accounting, { media: this.loan.call, callerLeg: party.media.id, isBorrowed: true })
    return this.loan.call
  }

  /** Adds the leg of the caller to the media. Returns null if there is no caller, or the call is over. */
  async addCaller(media: MediaCall, codecs: readonly MediaCodec[]): Promise<CallLeg | null> {
    if (!this.caller) return null
    const { incoming, trunk, person } = this.caller
    const added = await media.addLeg({
      ...{ id: 'caller', kind: person ? 'webrtc' : 'rtp', codecs: trunk?.settings.codecs ?? codecs },
      isLocal: isLocal(incoming.flow),
      srtp: trunk?.settings.srtp ?? 'never',
      offer: incoming.invite.body.length > 0 ? incoming.invite.body.toString() : null,
      ...(trunk ? { source: incoming.flow.address } : {}),
    })
    if (added.outcome === 'refused') {
      this.end(causeOfMedia(added))
      return null
    }
    const where = { trunk: trunk?.settings.id ?? null, person, flow: person ? incoming.flow : null }
    const caller = new CallLeg('caller', where, added.value, this.legEvents())
    caller.isAnswerDue = incoming.invite.body.length === 0
    incoming.events = {
      ...incoming.events,
      offered: (request) => caller.offered(request),
      info: (request) => caller.info(request),
    }
    return caller
  }

  /**
   * Searches for a target of the plan that answers. Ringing is reported to call control before the caller hears it.
   * Returns null if the call is over.
   */
  async search({ ringing, early = () => {}, ...search }: Search): Promise<AnsweredTarget | null> {
    const { plan } = this
    if (!plan || this.cause) return null
    const { timelines, ...deps } = this.deps
    this.forking = new Forking({
      ...deps,
      ...search,
      plan,
      side: this.legEvents(),
      events: {
        ringing: (target) => void this.ring(target).then(ringing),
        early,
        dialled: (callId) => timelines.follow(this.timeline, callId, 'callee'),
      },
    })
    const running = this.forking.run()
    this.searching = running.catch(() => {})
    const found = await running
    if ('ending' in found) {
      this.end(found.ending)
      return null
    }
    if (!this.cause) {
      this.releases.push(found.release)
      return found
    }
    found.release()
    await found.leg.session?.bye()
    return null
  }

  /** Reports ringing to call control, then to the caller. @param target that rings; null: the platform itself */
  ring(target: VoiceTarget | null): Promise<void> {
    const { callControl, onError } = this.deps.gateway
    const reported = this.plan === null ? Promise.resolve() : callControl.ringing(this.plan.call, target)
    const rung = reported.catch(onError).then(() => this.caller?.incoming.ring({ status: 180 }))
    this.ringingReported = rung
    return rung
  }

  /** Notes the parties that talk: the end of the call hangs up on them. */
  setLegs(legs: readonly CallLeg[]): void {
    this.legs = legs
    if (this.accounting) this.accounting.legs = legs
  }

  /**
   * Persists the answer, before the caller gets it, because the call costs money from then on.
   * @param target which answered; null: the platform itself
   * @param dialogsOf returns the dialogs to end after a crash
   * @returns false if the call is over
   */
  async persistAnswer(target: VoiceTarget | null, dialogsOf: () => readonly VoiceDialog[]): Promise<boolean> {
    await this.ringingReported
    if (!this.plan || this.cause) return false
    this.isAnswered = true
    if (this.accounting) this.accounting.answeredAt = this.now()
    const admission = this.deps.gateway.callControl.answered(this.plan.call, target, dialogsOf())
    this.answerPersisted = admission.catch(() => {})
    const agreed = await admission
    if (this.cause) return false
    if ('refused' in agreed) this.end(causeOfRefusal(agreed.refused))
    return !this.isOver
  }

  /** Starts the recording that the plan asks for. */
  async record(caller: CallLeg, callee: CallLeg): Promise<void> {
    this.noteUnrecorded(await this.accounting?.record(caller, callee))
  }

  /** The same for the party whose call a program runs. */
  async recordParty(party: CallLeg): Promise<void> {
    this.noteUnrecorded(await this.accounting?.recordParty(party))
  }

  /** Every party knows the answer: the talk begins, unless one of them has hung up meanwhile. */
  establish(): void {
    this.isEstablished = true
    const gone = this.legs.find(({ session }) => session?.isEnded)
    if (gone) this.end(hungUp(gone.name))
    if (!this.cause) this.accounting?.start()
  }

  /** Resolves once an answered browser can hear, within 3 s; at once for a telephone, and when the call ends. */
  async connection({ person, media }: CallLeg): Promise<void> {
    if (person === null || this.cause) return
    this.after(`connection ${media.id}`, maxConnectionMs, () => this.connectedLegs.add(media.id))
    await this.connectedLegs.wait(media.id)
  }

  /** Runs something later, unless the call is over by then. A timer replaces an earlier one of its name. */
  after(name: string, milliseconds: number, run: () => void): void {
    this.stopTimer(name)
    if (!this.cause) this.timers.set(name, this.deps.gateway.agent.timers.after(milliseconds, run))
  }

  stopTimer(name: string): void {
    this.timers.get(name)?.()
  }

  addEntry(entry: TimelineEntry): void {
    this.timeline.add(entry)
  }

  /** Reports errors that no caller receives. */
  onError(error: unknown): void {
    this.deps.gateway.onError(error)
  }

  private legEvents(): CallLegEvents {
    const { behaviour } = this
    return {
      ended: (side, why) => {
        // A callee that hangs up right after answering has answered: the answer is reported first, then the end.
        if (!this.isEstablished) return
        if (why === 'remote') this.end(hungUp(side.name))
        else if (why !== 'local')
          this.end({ how: 'interrupted', status: 408, reason: `The ${side.name} is gone: ${why}`, by: side.name })
      },
      note: (side, text) => this.note(side, text),
      undescribed: ({ name }) => this.end(undescribed(name)),
      ...(behaviour?.pressed
        ? { pressed: ({ media }: CallLeg, key: string) => behaviour.pressed?.('info', key, media.id) }
        : {}),
    }
  }

  private follow({ incoming, trunk }: Caller): void {
    this.deps.timelines.follow(this.timeline, callIdOf(incoming.invite), 'caller', isLocal(incoming.flow))
    this.timeline.add({ leg: 'caller', what: 'sip_in', text: `INVITE ${incoming.invite.uri}` })
    if (trunk) this.releases.push(trunk.load.addCall())
    incoming.events = {
      cancelled: () => this.end({ how: 'canceled', status: 487, reason: 'The caller hung up', by: 'caller' }),
    }
  }

  private async begin(): Promise<void> {
    const decision = await this.origin.requestPlan()
    if ('refused' in decision) {
      this.end(causeOfRefusal(decision.refused))
      return
    }
    const plan = decision.value
    this.plan = plan
    this.timeline.setCall(plan.call)
    this.accounting = new CallAccounting(this.deps.gateway, plan, (ending) => this.end(ending))
    if (this.cause) {
      await this.conclude(this.accounting, this.cause)
      return
    }
    this.behaviour = this.origin.behaviourOf(this, plan)
    await this.behaviour.run()
  }

  private async conclude(accounting: CallAccounting, ending: HangupCause): Promise<void> {
    await this.answerPersisted
    await accounting.conclude(ending, () => this.releaseMedia()).catch(this.deps.gateway.onError)
    this.release()
  }

  private async releaseMedia(): Promise<void> {
    // A search that was cancelled may add a leg until then.
    if (this.loan) await this.searching
    await (this.loan ? this.loan.giveBack(this.forking?.mediaLegs ?? []) : this.media?.close())
    this.mediaRelease.resolve()
  }

  private release(): void {
    this.deps.timelines.end(this.timeline)
    for (const release of this.releases) release()
    this.mediaRelease.resolve()
    this.gone()
  }

  private mediaEvents(): MediaEvents {
    return {
      connected: (leg) => {
        this.timeline.addMedia(leg, 'the audio is connected')
        this.connectedLegs.add(leg)
      },
      // Dialled digits concern only the parties and are not traced.
      dtmf: (leg, digit) => this.behaviour?.pressed?.('rtp', digit, leg),
      speech: (leg, change) => this.behaviour?.spoke?.(change, leg),
      silence: (leg, seconds) => {
        const reason = `No audio from the ${sideOf(leg)} for ${seconds} s`
        if (this.isAnswered && this.behaviour?.endsOnSilence)
          this.end({ how: 'media_timeout', status: 408, reason, by: null })
      },
      dropped: (leg, from, expected) =>
        this.timeline.addMedia(leg, `packets from ${from} are dropped, they are expected from ${expected}`),
      failed: (leg, reason) => {
        this.timeline.addMedia(leg, `the audio failed: ${reason}`)
        const isTheirs = leg === null || leg === 'caller' || this.legs.some(({ media }) => media.id === leg)
        if (isTheirs) this.end(redactedFailure(500, reason))
      },
    }
  }

  private noteUnrecorded(reason: string | null | undefined): void {
    if (typeof reason === 'string') this.addEntry({ leg: null, what: 'note', text: `not recorded: ${reason}` })
  }

  private note({ name }: CallLeg, text: string): void {
    this.addEntry({ leg: name, what: 'note', text })
  }
}
