import { randomBytes } from 'node:crypto'
import type { MediaCall, MediaCodec, MediaLegWish } from '../../port.ts'
import type { VoicePerson, VoicePlan, VoiceTarget } from '../../voice-port.ts'
import type { Ask } from '../codec/agent/ask.ts'
import type { Outcome } from '../codec/agent/exchange.ts'
import type { Header, SipResponse } from '../codec/message.ts'
import type { Flow } from '../codec/transport/flow.ts'
import { escapeUser } from '../codec/uri.ts'
import { Attempt } from './attempt.ts'
import { type Ending, mayFailOver, ofMedia, ofOutcome, veiled, weightiest } from './ending.ts'
import { keyOf, type Parts } from './parts.ts'
import type { Binding, Registrar } from './registrar.ts'
import { Side, type SideEvents } from './side.ts'
import type { Trunk } from './trunk.ts'
import type { Trunks } from './trunks.ts'

export type HuntSettings = {
  readonly parts: Parts
  readonly registrar: Registrar
  readonly trunks: Trunks
  readonly media: MediaCall
  readonly caller: Side
  readonly plan: VoicePlan
  /** Codecs towards browsers, best first. */
  readonly codecs: readonly MediaCodec[]
  /** What the caller says beside, to browsers. */
  readonly headers: readonly Header[]
  readonly side: SideEvents
  readonly events: {
    ringing(target: VoiceTarget): void
    /** There is something to be heard before the answer. */
    early(): void
    /** An INVITE leaves, under this Call-ID. */
    dialled(callId: string): void
  }
}

type Won = { readonly target: VoiceTarget; readonly side: Side }

/** `release` gives the channel of its trunk back. */
export type Found = (Won & { release(): void }) | { readonly ending: Ending }

type Tried = (Won | { readonly ending: Ending }) & { readonly isFinal: boolean }

const nobody: Ending = { how: 'no_answer', status: 480, reason: 'Nobody is there to be called', by: null }
const unanswered: Ending = { how: 'no_answer', status: 480, reason: 'Nobody answered', by: null }

const isOf = ({ side: { person } }: Attempt, whom: VoicePerson): boolean =>
  person !== null && keyOf(person) === keyOf(whom)

/** Looks for somebody who answers: one target after the other, the people of one all at once. */
export class Hunt {
  private readonly settings: HuntSettings
  private made = 0
  private readonly ringing = new Set<Attempt>()
  /** Of these, whose device is gone: its person may come back, with it or with another one. */
  private readonly absent = new Set<Attempt>()
  private isCancelled = false
  private isWon = false
  private begin = (_attempt: Attempt) => {}
  private giveUp = (_attempt: Attempt) => {}
  private stop = () => {}

  constructor(settings: HuntSettings) {
    this.settings = settings
  }

  async run(): Promise<Found> {
    let last: Ending = nobody
    const { plan } = this.settings
    // A trunk that does not answer its pings may still take calls, and is worth the wait when there is no other one.
    const targets = plan.targets.toSorted((a, b) => Number(this.isDown(a)) - Number(this.isDown(b)))
    for (const target of targets) {
      if (this.isCancelled) break
      const trunk = 'trunk' in target ? this.settings.trunks.get(target.trunk) : null
      const release = trunk?.load.take() ?? (() => {})
      const tried = await this.tryOne(target, trunk)
      if ('side' in tried) return { ...tried, release }
      release()
      last = tried.ending
      if (tried.isFinal) break
    }
    return { ending: last }
  }

  cancel(): void {
    this.isCancelled = true
    for (const attempt of this.ringing) attempt.cancel()
    this.stop()
  }

  /** A newer device has the place of this one. */
  replaced(flow: Flow): void {
    for (const attempt of this.ringing) {
      if (attempt.side.flow?.id !== flow.id) continue
      this.absent.add(attempt)
      attempt.cancel()
    }
  }

  /** Somebody rings here by a connection that is not the newest: it is this one that rings. Nobody has answered the offer: it holds. */
  arrived(binding: Binding): void {
    for (const attempt of this.isWon || this.isCancelled ? [] : [...this.ringing]) {
      if (!isOf(attempt, binding.person) || attempt.side.flow?.id === binding.flow.id) continue
      this.ringing.delete(attempt)
      attempt.cancel()
      this.begin(this.moved(attempt, binding))
    }
  }

  /** Somebody will not come back. */
  left(person: VoicePerson): void {
    for (const attempt of [...this.ringing]) if (this.absent.has(attempt) && isOf(attempt, person)) this.giveUp(attempt)
  }

  /** The same offer, to where its person is now. */
  private moved({ side: { media }, offer }: Attempt, binding: Binding): Attempt {
    const where = { trunk: null, person: binding.person, flow: binding.flow }
    const side = new Side('callee', where, media, this.settings.side)
    return new Attempt(side, this.named(this.toward(binding)), offer)
  }

  /** Its person may have signed in anew while the media were made ready. */
  private upToDate(attempt: Attempt): Attempt {
    const { person, flow } = attempt.side
    const binding = person && this.settings.registrar.find(person)
    return binding && binding.flow.id !== flow?.id ? this.moved(attempt, binding) : attempt
  }

  private isDown(target: VoiceTarget): boolean {
    return 'trunk' in target && this.settings.trunks.get(target.trunk)?.status.state === 'down'
  }

  private async tryOne(target: VoiceTarget, trunk: Trunk | null): Promise<Tried> {
    const prepared = 'trunk' in target ? await this.toTrunk(trunk, target.number) : await this.toPeople(target.people)
    if (this.isCancelled) return { ending: nobody, isFinal: true }
    const attempts = prepared.filter((one) => one instanceof Attempt)
    const [refusal] = prepared.filter((one): one is Ending => !(one instanceof Attempt))
    if (attempts.length === 0) return { ending: refusal ?? nobody, isFinal: false }
    const won = await this.ring(target, attempts)
    this.stop()
    if (!('side' in won)) return won
    const { media, caller } = this.settings
    const bridged = attempts.length > 1 ? await media.bridge(caller.media, won.side.media) : null
    return bridged?.outcome === 'refused' ? this.lost(won.side, ofMedia(bridged)) : won
  }

  private lost(side: Side, ending: Ending): Tried {
    void side.session?.bye()
    return { ending, isFinal: true }
  }

  private async toTrunk(trunk: Trunk | null, number: string): Promise<(Attempt | Ending)[]> {
    if (!trunk) return [veiled(503, 'There is no such trunk')]
    // This call is counted already.
    if (trunk.room < 0) return [veiled(503, `All channels of the trunk ${trunk.settings.name} are taken`)]
    const where = { trunk: trunk.settings.id, person: null, flow: null }
    const { codecs, srtp } = trunk.settings
    const ask = trunk.ask(number, this.settings.plan.callerId)
    return [await this.prepare(where, { kind: 'rtp', codecs, srtp }, ask)]
  }

  private async toPeople(people: Extract<VoiceTarget, { people: unknown }>['people']): Promise<(Attempt | Ending)[]> {
    const { registrar, codecs } = this.settings
    const prepared: (Attempt | Ending)[] = []
    for (const person of people) {
      const binding = registrar.find(person)
      if (!binding) continue
      const where = { trunk: null, person, flow: binding.flow }
      prepared.push(await this.prepare(where, { kind: 'webrtc', codecs }, this.toward(binding)))
    }
    return prepared
  }

  private toward({ contact, flow, identity }: Binding): Ask {
    const { plan, parts, headers } = this.settings
    return {
      ...{ uri: contact, via: flow, patienceMs: 4_000, headers },
      from: `<sip:${escapeUser(plan.callerId)}@${parts.domain}>`,
      to: `<sip:${escapeUser(identity)}@${parts.domain}>`,
    }
  }

  /** Named by the call's record, so that a carrier's log leads to ours; what follows makes it one of a kind (RFC 3261, 8.1.1.4). */
  private named(ask: Ask): Ask {
    const callId = `${this.settings.plan.call}-${randomBytes(6).toString('hex')}`
    this.settings.events.dialled(callId)
    return { ...ask, callId }
  }

  private async prepare(
    where: { trunk: string | null; person: Side['person']; flow: Flow | null },
    wish: Pick<MediaLegWish, 'kind' | 'codecs' | 'srtp'>,
    ask: Ask,
  ): Promise<Attempt | Ending> {
    const { media, caller, side } = this.settings
    const leg = await media.addLeg({ id: `callee-${++this.made}`, offer: null, ...wish })
    if (leg.outcome === 'refused') return ofMedia(leg)
    // Bridged before it describes itself: it then offers what the caller can hear.
    const bridged = await media.bridge(caller.media, leg.value)
    if (bridged.outcome === 'refused') return ofMedia(bridged)
    const offer = await leg.value.describe()
    if (offer.outcome === 'refused') return ofMedia(offer)
    return new Attempt(new Side('callee', where, leg.value, side), this.named(ask), offer.value)
  }

  /** Resolves with the first who answers, else when the last one has refused, or it rang for long enough. */
  private ring(target: VoiceTarget, attempts: readonly Attempt[]): Promise<Tried> {
    const { parts, plan } = this.settings
    const { ringing } = this
    const endings: Ending[] = []
    // After early media the caller has heard something: another trunk would ring behind an announcement.
    let [hasRung, isHeard, isFinal] = [false, false, false]
    return new Promise((resolve) => {
      const give = (isOver: boolean) => {
        for (const attempt of ringing) attempt.cancel()
        if (isOver) resolve({ ending: unanswered, isFinal: true })
      }
      const stopTimer = parts.agent.timers.after(plan.ringSeconds * 1_000, () => give(true))
      this.stop = () => {
        stopTimer()
        if (this.isCancelled) resolve({ ending: nobody, isFinal: true })
      }
      const settle = (attempt: Attempt, ending: Ending) => {
        if (!ringing.delete(attempt)) return
        endings.push(ending)
        if (this.isWon || ringing.size > 0) return
        resolve({ ending: weightiest(endings) ?? nobody, isFinal: hasRung || isHeard || isFinal })
      }
      const refused = (attempt: Attempt, outcome: Outcome) => {
        if (this.mayReturn(attempt, outcome) && hasRung) this.absent.add(attempt)
        if (this.absent.has(attempt)) return
        isFinal ||= !mayFailOver(outcome)
        settle(attempt, ofOutcome(outcome))
      }
      this.giveUp = (attempt) => settle(attempt, unanswered)
      this.begin = (attempt) => {
        ringing.add(attempt)
        attempt.start(parts, {
          progress: (response, flow) => {
            if (this.isWon) return
            if (response.status === 180 && !hasRung) {
              hasRung = true
              this.settings.events.ringing(target)
            }
            if (response.body.length === 0 || attempts.length > 1) return
            isHeard = true
            void this.early(attempt, response, flow)
          },
          accepted: (response, flow) => {
            if (this.isWon) void attempt.side.session?.bye()
            else {
              this.isWon = true
              for (const other of ringing) if (other !== attempt) other.cancel(true)
              this.answered(attempt, response, flow).then(
                (ending) =>
                  resolve(
                    ending || this.isCancelled
                      ? this.lost(attempt.side, ending ?? nobody)
                      : { target, side: attempt.side, isFinal: true },
                  ),
                parts.fault,
              )
            }
          },
          refused: (outcome) => refused(attempt, outcome),
        })
      }
      for (const attempt of attempts) this.begin(this.upToDate(attempt))
    })
  }

  /** Its connection broke, and the registrar waits for it. */
  private mayReturn({ side }: Attempt, { outcome }: Outcome): boolean {
    return outcome === 'failed' && side.person !== null && this.settings.registrar.expects(side.person)
  }

  private async early({ media }: Attempt, response: SipResponse, flow: Flow): Promise<void> {
    const taken = await media.accept(response.body.toString(), flow.address)
    if (taken.outcome === 'done') this.settings.events.early()
  }

  /** Null when its media are agreed. */
  private async answered({ media }: Attempt, response: SipResponse, flow: Flow): Promise<Ending | null> {
    // The answer may have come with an earlier, reliable response (RFC 3262, 5).
    if (response.body.length === 0) return null
    const taken = await media.accept(response.body.toString(), flow.address)
    return taken.outcome === 'refused' ? ofMedia(taken) : null
  }
}
