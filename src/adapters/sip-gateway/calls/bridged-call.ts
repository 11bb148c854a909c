import type { IncomingCall } from '@trunkline/sip/dialog/incoming-call.ts'
import { callIdOf } from '@trunkline/sip/fields.ts'
import type { Header } from '@trunkline/sip/message.ts'
import { reasonPhrase } from '@trunkline/sip/response.ts'
import type { Flow } from '@trunkline/sip/transport/flow.ts'
import type { MediaCodec, MediaEvents } from '../../../ports/media.ts'
import type { VoiceDecision, VoicePlan, VoiceTarget, VoiceUser } from '../../../ports/voice.ts'
import type { Registrar } from '../browsers/registrar.ts'
import type { GatewayDeps } from '../gateway-deps.ts'
import { reconnectMs } from '../limits.ts'
import type { Trunk } from '../trunks/trunk.ts'
import type { TrunkRegistry } from '../trunks/trunk-registry.ts'
import { CallAccounting } from './call-accounting.ts'
import { CallLeg, type CallLegEvents, sdpBody } from './call-leg.ts'
import { type CallTimeline, type CallTimelines, sideOf } from './call-timeline.ts'
import { Forking, type ForkingResult } from './forking.ts'
import {
  causeOfMedia,
  causeOfRefusal,
  failure,
  type HangupCause,
  hungUp,
  redactedFailure,
  undescribed,
} from './hangup-cause.ts'

export type CallDeps = {
  readonly gateway: GatewayDeps
  readonly registrar: Registrar
  readonly trunks: TrunkRegistry
  readonly timelines: CallTimelines
  /** The call is over, and call control has persisted its end. */
  gone(call: BridgedCall): void
}

/** The calling side. */
export type Caller = {
  readonly incoming: IncomingCall
  readonly trunk: Trunk | null
  readonly person: VoiceUser | null
  readonly headers: readonly Header[]
  /** The caller withholds its number: nothing that names the call shows it. */
  readonly isWithheld: boolean
  /** Asks call control for the plan of the call. */
  requestPlan(): Promise<VoiceDecision<VoicePlan>>
}

/** Codecs of a call between browsers that is not recorded; all other calls use G.711. */
const browserCodecs: readonly MediaCodec[] = ['opus', 'pcmu', 'pcma']
const trunkCodecs: readonly MediaCodec[] = ['pcmu', 'pcma']

/** One call of a B2BUA (RFC 7092), from its INVITE until call control has persisted its end. */
export class BridgedCall {
  /** Searches for a target that answers; null before the search. */
  forking: Forking | null = null
  private readonly deps: CallDeps
  private readonly caller: Caller
  private readonly timeline: CallTimeline
  private plan: VoicePlan | null = null
  private accounting: CallAccounting | null = null
  private legs: readonly CallLeg[] = []
  private cause: HangupCause | null = null
  private answeredTarget: VoiceTarget | null = null
  /** Settles once the answer is persisted; the end is persisted after it. */
  private answerPersisted: Promise<unknown> = Promise.resolve()
  /** Release the trunk channels that the call uses. */
  private readonly releases: (() => void)[]
  private readonly timers = new Map<string, () => void>()
  private ringingReported: Promise<unknown> = Promise.resolve()

  constructor(deps: CallDeps, caller: Caller) {
    this.deps = deps
    this.caller = caller
    const { incoming, trunk } = caller
    this.timeline = deps.timelines.begin(caller.isWithheld)
    deps.timelines.follow(this.timeline, callIdOf(incoming.invite), 'caller')
    this.timeline.add({ leg: 'caller', what: 'sip_in', text: `INVITE ${incoming.invite.uri}` })
    this.releases = trunk ? [trunk.load.addCall()] : []
    incoming.events = {
      cancelled: () => this.end({ how: 'canceled', status: 487, reason: 'The caller hung up', by: 'caller' }),
    }
  }

  /** The call's id in call control, once it is known. */
  get callId(): string | null {
    return this.plan?.call ?? null
  }

  /** The connections of the call's browsers. */
  get flows(): readonly Flow[] {
    const [caller, ...others] = this.legs
    return [caller?.flow ?? this.caller.incoming.flow, ...others.flatMap(({ flow }) => flow ?? [])]
  }

  usesFlow(flow: Flow): boolean {
    return this.flows.some(({ id }) => id === flow.id)
  }

  involves(people: ReadonlySet<string>, key: (person: VoiceUser) => string): boolean {
    const own = [this.caller.person, ...this.legs.map(({ person }) => person)]
    return own.some((person) => person !== null && people.has(key(person)))
  }

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
    const { incoming } = this.caller
    const status = ending.status >= 400 ? ending.status : 480
    // A quotation mark or a line feed would end the header.
    const reason = (ending.isRedacted ? reasonPhrase(status) : ending.reason)
      .replace(/[^\w +.,:;()'/-]/g, ' ')
      .slice(0, 120)
    incoming.refuse({ status, reason })
    const why = [['Reason', `SIP;cause=${ending.status || 200};text="${reason}"`]] as const
    for (const { session } of this.legs) void session?.bye({ headers: why })
    this.accounting?.stop()
    if (this.accounting) void this.conclude(this.accounting, ending)
  }

  /** A browser's connection broke. An answered call continues for a while. */
  connectionLost(flow: Flow): void {
    if (!this.usesFlow(flow) || this.cause) return
    const side = this.legs.find((one) => one.flow?.id === flow.id)
    if (this.answeredTarget === null) {
      if (this.caller.trunk === null && this.caller.incoming.flow.id === flow.id)
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
      this.timers.get(`lost ${side.name}`)?.()
      side.setFlow(to)
      this.note(side, 'the connection is back')
    }
  }

  private async begin(): Promise<void> {
    const decision = await this.caller.requestPlan()
    if ('refused' in decision) {
      this.end(causeOfRefusal(decision.refused))
      return
    }
    this.plan = decision.value
    this.timeline.setCall(decision.value.call)
    this.accounting = new CallAccounting(this.deps.gateway, decision.value, (ending) => this.end(ending))
    if (this.cause) await this.conclude(this.accounting, this.cause)
    else await this.search(decision.value, this.accounting)
  }

  private async search(plan: VoicePlan, meter: CallAccounting): Promise<void> {
    const opened = await this.deps.gateway.media.openCall(this.mediaEvents())
    if (opened.outcome === 'refused') return this.end(causeOfMedia(opened))
    meter.media = opened.value
    // The call ended meanwhile, and its end did not know the media.
    if (this.cause) return opened.value.close()
    const { incoming, trunk, person, headers } = this.caller
    const codecs =
      trunk || plan.record !== null || plan.targets.some((target) => 'trunk' in target) ? trunkCodecs : browserCodecs
    const added = await opened.value.addLeg({
      ...{ id: 'caller', kind: trunk ? 'rtp' : 'webrtc', codecs: trunk?.settings.codecs ?? codecs },
      srtp: trunk?.settings.srtp ?? 'never',
      offer: incoming.invite.body.length > 0 ? incoming.invite.body.toString() : null,
      ...(trunk ? { source: incoming.flow.address } : {}),
    })
    if (added.outcome === 'refused') return this.end(causeOfMedia(added))
    const where = { trunk: trunk?.settings.id ?? null, person, flow: trunk ? null : incoming.flow }
    const caller = new CallLeg('caller', where, added.value, this.legEvents())
    caller.isAnswerDue = incoming.invite.body.length === 0
    incoming.events = {
      ...incoming.events,
      offered: (request) => caller.offered(request),
      info: (request) => caller.info(request),
    }
    const { gateway, registrar, trunks } = this.deps
    this.forking = new Forking({
      ...{
        gateway,
        registrar,
        trunks,
        media: opened.value,
        caller,
        plan,
        codecs,
        headers,
        side: this.legEvents(),
      },
      events: {
        ringing: (target) => this.ringing(plan, target),
        early: () => void this.early(caller),
        dialled: (callId) => this.deps.timelines.follow(this.timeline, callId, 'callee'),
      },
    })
    if (this.cause) return
    const found = await this.forking.run()
    if (this.cause) {
      if ('ending' in found) return
      found.release()
      await found.leg.session?.bye()
    } else if ('ending' in found) this.end(found.ending)
    else await this.answer(plan, meter, caller, found)
  }

  /** Reports ringing to call control before the caller hears it. */
  private ringing(plan: VoicePlan, target: VoiceTarget): void {
    this.ringingReported = this.deps.gateway.callControl
      .ringing(plan.call, target)
      .catch(this.deps.gateway.onError)
      .then(() => this.caller.incoming.ring({ status: 180 }))
  }

  private async early({ media }: CallLeg): Promise<void> {
    // Without an offer from the caller there is nothing to answer before the 200.
    if (this.caller.incoming.invite.body.length === 0) return
    const answer = await media.describe()
    if (answer.outcome === 'done') this.caller.incoming.ring({ status: 183, body: sdpBody(answer.value) })
  }

  private async answer(
    plan: VoicePlan,
    meter: CallAccounting,
    caller: CallLeg,
    { target, leg: callee, release }: Exclude<ForkingResult, { ending: HangupCause }>,
  ) {
    const { callControl } = this.deps.gateway
    this.releases.push(release)
    this.legs = [caller, callee]
    meter.legs = this.legs
    caller.partner = callee
    callee.partner = caller
    const session = callee.session
    if (!session) return
    const description = await caller.media.describe()
    if (description.outcome === 'refused') return this.end(causeOfMedia(description))
    await this.ringingReported
    const { incoming } = this.caller
    // The call costs money from here on: the answer is persisted before the caller gets it.
    this.answeredTarget = target
    const dialogs = [caller.snapshot(incoming.dialog), callee.snapshot(session.dialog)]
    const admission = callControl.answered(plan.call, target, dialogs)
    this.answerPersisted = admission.catch(() => {})
    const agreed = await admission
    if (this.cause) return
    if ('refused' in agreed) return this.end(causeOfRefusal(agreed.refused))
    const unrecorded = await meter.record(caller, callee)
    if (unrecorded !== null) this.timeline.add({ leg: null, what: 'note', text: `not recorded: ${unrecorded}` })
    // Null when the caller cancelled first: `cancelled` has ended the call.
    caller.session = incoming.accept({ body: sdpBody(description.value) }, caller)
    if (session.isEnded) this.end(hungUp('callee'))
    if (!this.cause) meter.start()
  }

  private async conclude(meter: CallAccounting, ending: HangupCause): Promise<void> {
    await this.answerPersisted
    await meter.conclude(ending).catch(this.deps.gateway.onError)
    this.release()
  }

  private release(): void {
    this.deps.timelines.end(this.timeline)
    for (const release of this.releases) release()
    this.deps.gone(this)
  }

  private mediaEvents(): MediaEvents {
    return {
      connected: (leg) => this.timeline.addMedia(leg, 'the audio is connected'),
      // Dialled digits concern only the callee and are not traced.
      dtmf: () => {},
      silence: (leg, seconds) => {
        const reason = `No audio from the ${sideOf(leg)} for ${seconds} s`
        if (this.answeredTarget !== null) this.end({ how: 'media_timeout', status: 408, reason, by: null })
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

  private legEvents(): CallLegEvents {
    return {
      ended: (side, why) => {
        // A callee that hangs up right after answering has answered: `answer` reports first the answer, then the end.
        if (!this.legs[0]?.session) return
        if (why === 'remote') this.end(hungUp(side.name))
        else if (why !== 'local')
          this.end({ how: 'interrupted', status: 408, reason: `The ${side.name} is gone: ${why}`, by: side.name })
      },
      note: (side, text) => this.note(side, text),
      undescribed: ({ name }) => this.end(undescribed(name)),
    }
  }

  private note({ name }: CallLeg, text: string): void {
    this.timeline.add({ leg: name, what: 'note', text })
  }

  private after(name: string, milliseconds: number, run: () => void): void {
    if (!this.cause) this.timers.set(name, this.deps.gateway.agent.timers.after(milliseconds, run))
  }
}
