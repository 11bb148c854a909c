import { randomBytes } from 'node:crypto'
import { isReliable } from '@trunkline/sip/dialog/prack.ts'
import type { Header, SipResponse } from '@trunkline/sip/message.ts'
import type { Flow } from '@trunkline/sip/transport/flow.ts'
import { escapeUser } from '@trunkline/sip/uri.ts'
import type { RequestOptions } from '@trunkline/sip/user-agent/request.ts'
import type { RequestOutcome } from '@trunkline/sip/user-agent/uac.ts'
import type { MediaCall, MediaCodec, MediaLeg, MediaLegOptions } from '../../../ports/media.ts'
import type { VoicePlan, VoiceTarget, VoiceUser } from '../../../ports/voice.ts'
import type { Binding, Registrar } from '../browsers/registrar.ts'
import { type GatewayDeps, personKey } from '../gateway-deps.ts'
import { maxRedirections } from '../limits.ts'
import type { Trunk } from '../trunks/trunk.ts'
import type { TrunkRegistry } from '../trunks/trunk-registry.ts'
import { CallLeg, type CallLegEvents } from './call-leg.ts'
import { ForkBranch } from './fork-branch.ts'
import {
  causeOfMedia,
  causeOfOutcome,
  type HangupCause,
  mayFailOver,
  mostSpecific,
  redactedFailure,
  undescribed,
} from './hangup-cause.ts'
import { hopsHeader, ownCallHeader } from './hops.ts'

export type ForkingSettings = {
  readonly gateway: GatewayDeps
  readonly registrar: Registrar
  readonly trunks: TrunkRegistry
  readonly media: MediaCall
  /** Null in a call that the platform places: nothing is bridged. */
  readonly caller: CallLeg | null
  readonly plan: Pick<VoicePlan, 'call' | 'callerId' | 'targets' | 'ringSeconds' | 'headers' | 'hops'>
  /** How the ids of its media legs begin. Default: callee. */
  readonly legPrefix?: string
  /** The target that answers is not bridged with the caller: it is screened first. Default: false. */
  readonly isScreened?: boolean
  /** Codecs towards browsers, best first. */
  readonly codecs: readonly MediaCodec[]
  /** Additional headers from the caller, for browsers. */
  readonly headers: readonly Header[]
  readonly side: CallLegEvents
  readonly events: {
    ringing(target: VoiceTarget): void
    /** Early media has started. */
    early(): void
    /** An INVITE is sent with this Call-ID. */
    dialled(callId: string): void
  }
}

export type AnsweredTarget = { readonly target: VoiceTarget; readonly leg: CallLeg }

/** `release` frees the channel of the trunk. */
export type ForkingResult = (AnsweredTarget & { release(): void }) | { readonly ending: HangupCause }

type TargetResult = (AnsweredTarget | { readonly ending: HangupCause }) & { readonly isFinal: boolean }

const noTarget: HangupCause = { how: 'no_answer', status: 480, reason: 'No registered device', by: null }
const noAnswer: HangupCause = { how: 'no_answer', status: 480, reason: 'No answer', by: null }

const isFor = ({ leg: { person } }: ForkBranch, user: VoiceUser): boolean =>
  person !== null && personKey(person) === personKey(user)

/**
 * Searches for a target that answers: the targets in order (serial forking), the people of one target all at once
 * (parallel forking; RFC 3261, 16.6).
 */
export class Forking {
  private readonly settings: ForkingSettings
  /** All legs that were added to the media. */
  readonly mediaLegs: MediaLeg[] = []
  private readonly ringingBranches = new Set<ForkBranch>()
  /** Ringing branches whose device is gone: the user may come back, with it or with another one. */
  private readonly absentBranches = new Set<ForkBranch>()
  private isCancelled = false
  private isAnswered = false
  private startBranch = (_attempt: ForkBranch) => {}
  private giveUpBranch = (_attempt: ForkBranch) => {}
  private stopRinging = () => {}

  constructor(settings: ForkingSettings) {
    this.settings = settings
  }

  async run(): Promise<ForkingResult> {
    let last: HangupCause = noTarget
    const { plan } = this.settings
    // A trunk that fails its pings may still take calls, and is worth a try after all others.
    const targets = plan.targets.toSorted((a, b) => Number(this.isDown(a)) - Number(this.isDown(b)))
    for (const target of targets) {
      if (this.isCancelled) break
      const trunk = 'trunk' in target ? this.settings.trunks.get(target.trunk) : null
      const release = trunk?.load.addCall() ?? (() => {})
      const tried = await this.tryTarget(target, trunk)
      if (!('ending' in tried)) return { ...tried, release }
      release()
      last = tried.ending
      if (tried.isFinal) break
    }
    return { ending: last }
  }

  cancel(): void {
    this.isCancelled = true
    for (const attempt of this.ringingBranches) attempt.cancel()
    this.stopRinging()
  }

  /** A newer device replaced the one on this flow. */
  replaced(flow: Flow): void {
    for (const attempt of this.ringingBranches) {
      if (attempt.leg.flow?.id !== flow.id) continue
      this.absentBranches.add(attempt)
      attempt.cancel()
    }
  }

  /** Moves a ringing branch to the user's newest connection. The offer is still unanswered, so it is reused. */
  arrived(binding: Binding): void {
    for (const attempt of this.isAnswered || this.isCancelled ? [] : [...this.ringingBranches]) {
      if (!isFor(attempt, binding.person) || attempt.leg.flow?.id === binding.flow.id) continue
      this.ringingBranches.delete(attempt)
      attempt.cancel()
      this.startBranch(this.withBinding(attempt, binding))
    }
  }

  /** A user will not come back. */
  left(person: VoiceUser): void {
    for (const attempt of [...this.ringingBranches])
      if (this.absentBranches.has(attempt) && isFor(attempt, person)) this.giveUpBranch(attempt)
  }

  /** The same offer, to the user's current connection. */
  private withBinding({ leg: { media }, offer }: ForkBranch, binding: Binding): ForkBranch {
    const where = { trunk: null, person: binding.person, flow: binding.flow }
    const side = new CallLeg('callee', where, media, this.settings.side)
    return new ForkBranch(side, this.withCallId(this.requestFor(binding)), offer)
  }

  /** The user may have signed in again while the media were prepared. */
  private withCurrentBinding(attempt: ForkBranch): ForkBranch {
    const { person, flow } = attempt.leg
    const binding = person && this.settings.registrar.find(person)
    return binding && binding.flow.id !== flow?.id ? this.withBinding(attempt, binding) : attempt
  }

  private isDown(target: VoiceTarget): boolean {
    return 'trunk' in target && this.settings.trunks.get(target.trunk)?.status.state === 'down'
  }

  private async tryTarget(target: VoiceTarget, trunk: Trunk | null): Promise<TargetResult> {
    const prepared = await this.prepareTarget(target, trunk)
    if (this.isCancelled) return { ending: noTarget, isFinal: true }
    const attempts = prepared.filter((one) => one instanceof ForkBranch)
    const [refusal] = prepared.filter((one): one is HangupCause => !(one instanceof ForkBranch))
    if (attempts.length === 0) return { ending: refusal ?? noTarget, isFinal: false }
    const won = await this.ringBranches(target, attempts)
    this.stopRinging()
    if ('ending' in won) return won
    const { media, caller, isScreened = false } = this.settings
    const isBridged = caller && attempts.length > 1 && !isScreened
    const bridged = isBridged ? await media.bridge(caller.media, won.leg.media) : null
    return bridged?.outcome === 'refused' ? this.failAfterAnswer(won.leg, causeOfMedia(bridged)) : won
  }

  private failAfterAnswer(side: CallLeg, ending: HangupCause): TargetResult {
    void side.session?.bye()
    return { ending, isFinal: true }
  }

  private async prepareTarget(target: VoiceTarget, trunk: Trunk | null): Promise<(ForkBranch | HangupCause)[]> {
    if ('trunk' in target) return await this.prepareTrunk(trunk, target.number)
    return 'own' in target ? [await this.prepareOwn(target.own)] : await this.preparePeople(target.people)
  }

  /** A call to ourselves, where the program of the number answers. */
  private async prepareOwn(number: string): Promise<ForkBranch | HangupCause> {
    const { plan, gateway, codecs } = this.settings
    const { local, domain } = gateway
    const where = { trunk: null, person: null, flow: null }
    return await this.prepare(
      where,
      { kind: 'rtp', codecs, isLocal: true },
      {
        ...{ uri: `sip:${escapeUser(number)}@${domain}`, via: local.caller, headers: [[ownCallHeader, plan.call]] },
        from: `<sip:${escapeUser(plan.callerId)}@${domain}>`,
      },
    )
  }

  private async prepareTrunk(trunk: Trunk | null, number: string): Promise<(ForkBranch | HangupCause)[]> {
    if (!trunk) return [redactedFailure(503, 'There is no such trunk')]
    // The current call is already counted.
    if (trunk.freeChannels < 0)
      return [redactedFailure(503, `All channels of the trunk ${trunk.settings.name} are taken`)]
    const where = { trunk: trunk.settings.id, person: null, flow: null }
    const { codecs, srtp } = trunk.settings
    const ask = trunk.inviteRequest(number, this.settings.plan.callerId)
    const { hops } = this.settings.plan
    const hopsHeaders: Header[] = hops === undefined ? [] : [[hopsHeader, String(hops)]]
    const headers = [...(ask.headers ?? []), ...this.planHeaders, ...hopsHeaders]
    return [await this.prepare(where, { kind: 'rtp', codecs, srtp }, { ...ask, headers })]
  }

  private async preparePeople(
    people: Extract<VoiceTarget, { people: unknown }>['people'],
  ): Promise<(ForkBranch | HangupCause)[]> {
    const { registrar, codecs } = this.settings
    const prepared: (ForkBranch | HangupCause)[] = []
    for (const person of people) {
      const binding = registrar.find(person)
      if (!binding) continue
      const where = { trunk: null, person, flow: binding.flow }
      prepared.push(await this.prepare(where, { kind: 'webrtc', codecs }, this.requestFor(binding)))
    }
    return prepared
  }

  private get planHeaders(): Header[] {
    return Object.entries(this.settings.plan.headers ?? {})
  }

  private requestFor({ contact, flow, identity }: Binding): RequestOptions {
    const { plan, gateway, headers } = this.settings
    return {
      ...{ uri: contact, via: flow, timeoutMs: 4_000, headers: [...headers, ...this.planHeaders] },
      from: `<sip:${escapeUser(plan.callerId)}@${gateway.domain}>`,
      to: `<sip:${escapeUser(identity)}@${gateway.domain}>`,
    }
  }

  /**
   * A Call-ID that begins with the call's id, so that a carrier's log leads to ours. The suffix makes it unique (RFC
   * 3261, 8.1.1.4).
   */
  private withCallId(ask: RequestOptions): RequestOptions {
    const callId = `${this.settings.plan.call}-${randomBytes(6).toString('hex')}`
    this.settings.events.dialled(callId)
    return { ...ask, callId }
  }

  private async prepare(
    where: { trunk: string | null; person: CallLeg['person']; flow: Flow | null },
    options: Pick<MediaLegOptions, 'kind' | 'codecs' | 'srtp' | 'isLocal'>,
    ask: RequestOptions,
  ): Promise<ForkBranch | HangupCause> {
    const { media, caller, side, legPrefix = 'callee' } = this.settings
    // The branches are prepared one after the other.
    const leg = await media.addLeg({ id: `${legPrefix}-${this.mediaLegs.length + 1}`, offer: null, ...options })
    if (leg.outcome === 'refused') return causeOfMedia(leg)
    this.mediaLegs.push(leg.value)
    // Bridged before it describes itself, so that it offers what the caller can receive.
    const bridged = caller && (await media.bridge(caller.media, leg.value))
    if (bridged?.outcome === 'refused') return causeOfMedia(bridged)
    const offer = await leg.value.describe()
    if (offer.outcome === 'refused') return causeOfMedia(offer)
    return new ForkBranch(new CallLeg('callee', where, leg.value, side), this.withCallId(ask), offer.value)
  }

  /** Resolves with the first branch that answers, else when the last one has refused or the ringing time is over. */
  private ringBranches(target: VoiceTarget, attempts: readonly ForkBranch[]): Promise<TargetResult> {
    const { gateway, plan } = this.settings
    const { ringingBranches } = this
    const endings: HangupCause[] = []
    // After early media the caller has heard audio: another trunk would ring behind an announcement.
    let [hasRung, isHeard, isFinal, isOver] = [false, false, false, false]
    return new Promise((resolve) => {
      const stopTimer = gateway.agent.timers.after(plan.ringSeconds * 1_000, () => {
        isOver = true
        for (const attempt of ringingBranches) attempt.cancel()
        resolve({ ending: noAnswer, isFinal: true })
      })
      this.stopRinging = () => {
        stopTimer()
        if (this.isCancelled) resolve({ ending: noTarget, isFinal: true })
      }
      const settle = (attempt: ForkBranch, ending: HangupCause) => {
        if (!ringingBranches.delete(attempt)) return
        endings.push(ending)
        if (this.isAnswered || ringingBranches.size > 0) return
        resolve({ ending: mostSpecific(endings) ?? noTarget, isFinal: hasRung || isHeard || isFinal })
      }
      const refused = (attempt: ForkBranch, outcome: RequestOutcome) => {
        const redirection = isHeard ? null : this.redirected(attempt, outcome)
        if (redirection) {
          void redirection.then((next) => {
            if (!next || this.isAnswered || this.isCancelled || isOver) settle(attempt, causeOfOutcome(outcome))
            else if (ringingBranches.delete(attempt)) this.startBranch(next)
          }, gateway.onError)
          return
        }
        if (this.mayReturn(attempt, outcome) && hasRung) this.absentBranches.add(attempt)
        if (this.absentBranches.has(attempt)) return
        isFinal ||= !mayFailOver(outcome)
        settle(attempt, causeOfOutcome(outcome))
      }
      this.giveUpBranch = (attempt) => settle(attempt, noAnswer)
      this.startBranch = (attempt) => {
        ringingBranches.add(attempt)
        attempt.start(gateway, {
          progress: (response, flow) => {
            if (this.isAnswered) return
            if (response.status === 180 && !hasRung) {
              hasRung = true
              this.settings.events.ringing(target)
            }
            if (response.body.length === 0) return
            if (isReliable(response)) attempt.noteReliableAnswer(response)
            if (attempts.length > 1) return
            isHeard = true
            void this.applyEarlyMedia(attempt, response, flow)
          },
          accepted: (response, flow) => {
            if (this.isAnswered) void attempt.leg.session?.bye()
            else {
              this.isAnswered = true
              for (const other of ringingBranches) if (other !== attempt) other.cancel(true)
              this.applyAnswer(attempt, response, flow).then(
                (ending) =>
                  resolve(
                    ending || this.isCancelled
                      ? this.failAfterAnswer(attempt.leg, ending ?? noTarget)
                      : { target, leg: attempt.leg, isFinal: true },
                  ),
                gateway.onError,
              )
            }
          },
          refused: (outcome) => refused(attempt, outcome),
        })
      }
      for (const attempt of attempts) this.startBranch(this.withCurrentBinding(attempt))
    })
  }

  /** True when the connection broke and the registrar waits for the user. */
  private mayReturn({ leg }: ForkBranch, { outcome }: RequestOutcome): boolean {
    return outcome === 'failed' && leg.person !== null && this.settings.registrar.isExpected(leg.person)
  }

  private async applyEarlyMedia({ leg }: ForkBranch, response: SipResponse, flow: Flow): Promise<void> {
    const taken = await leg.media.accept(response.body.toString(), flow.address)
    if (taken.outcome === 'refused' || this.isCancelled) return
    const { caller, events } = this.settings
    // Keys of the caller pass from now on.
    leg.partner = caller
    if (caller) caller.partner = leg
    events.early()
  }

  /** Null when the media are agreed. */
  private async applyAnswer(attempt: ForkBranch, response: SipResponse, flow: Flow): Promise<HangupCause | null> {
    const { media, isRenegotiated } = attempt.leg
    const { caller, media: callMedia, isScreened = false } = this.settings
    if (caller && isScreened) await callMedia.unbridge(caller.media)
    // A later offer has replaced the first: the 2xx repeats what is over.
    if (isRenegotiated) return null
    const answer = response.body.length > 0 ? response.body.toString() : attempt.reliableAnswer(response)
    if (answer === null) return undescribed('callee')
    const taken = await media.accept(answer, flow.address)
    return taken.outcome === 'refused' ? causeOfMedia(taken) : null
  }

  /** The branch to which a redirection of a trunk leads; null when the outcome is none. */
  private redirected(attempt: ForkBranch, outcome: RequestOutcome): Promise<ForkBranch | null> | null {
    const trunk = attempt.leg.trunk === null ? null : this.settings.trunks.get(attempt.leg.trunk)
    if (!trunk || outcome.outcome === 'failed' || outcome.response.status < 300 || outcome.response.status >= 400)
      return null
    return this.followRedirection(trunk, attempt, outcome.response)
  }

  private async followRedirection(
    trunk: Trunk,
    attempt: ForkBranch,
    response: SipResponse,
  ): Promise<ForkBranch | null> {
    const { redirections, request, offer, leg } = attempt
    const tried = [...redirections, request.uri]
    if (redirections.length >= maxRedirections) return null
    const target = await trunk.redirection(response, request.uri, tried)
    if (!target) return null
    const side = new CallLeg('callee', { trunk: leg.trunk, person: null, flow: null }, leg.media, this.settings.side)
    return new ForkBranch(side, this.withCallId({ ...request, ...target }), offer, tried)
  }
}
