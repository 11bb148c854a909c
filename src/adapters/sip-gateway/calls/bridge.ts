import type { MediaCodec } from '../../../ports/media.ts'
import type { VoicePlan } from '../../../ports/voice.ts'
import type { ActiveCall, CallBehaviour } from './active-call.ts'
import { type CallLeg, sdpBody } from './call-leg.ts'
import type { Caller } from './caller.ts'
import type { AnsweredTarget } from './forking.ts'
import { causeOfMedia } from './hangup-cause.ts'

/** Codecs of a call between browsers that is not recorded; all other calls use G.711. */
const browserCodecs: readonly MediaCodec[] = ['opus', 'pcmu', 'pcma']
const trunkCodecs: readonly MediaCodec[] = ['pcmu', 'pcma']

/** Connects the caller with the first target that answers: a B2BUA (RFC 7092). */
export class Bridge implements CallBehaviour {
  readonly endsOnSilence = true
  private readonly call: ActiveCall
  private readonly caller: Caller
  private readonly plan: VoicePlan

  constructor(call: ActiveCall, caller: Caller, plan: VoicePlan) {
    this.call = call
    this.caller = caller
    this.plan = plan
  }

  async run(): Promise<void> {
    const { call, plan } = this
    const { trunk, headers } = this.caller
    const media = await call.openMedia()
    if (!media) return
    const codecs =
      trunk || plan.record !== null || plan.targets.some((target) => 'trunk' in target) ? trunkCodecs : browserCodecs
    const caller = await call.addCaller(media, codecs)
    if (!caller) return
    const found = await call.search({ media, caller, codecs, headers, early: () => void this.early(caller) })
    if (found) await this.answer(caller, found)
  }

  private async early({ media }: CallLeg): Promise<void> {
    const { incoming } = this.caller
    // Without an offer from the caller there is nothing to answer before the 200.
    if (incoming.invite.body.length === 0) return
    const answer = await media.describe()
    if (answer.outcome === 'done') incoming.ring({ status: 183, body: sdpBody(answer.value) })
  }

  private async answer(caller: CallLeg, { target, leg: callee }: AnsweredTarget): Promise<void> {
    const { call } = this
    const { incoming } = this.caller
    call.setLegs([caller, callee])
    caller.partner = callee
    callee.partner = caller
    const { session } = callee
    if (!session) return
    const description = await caller.media.describe()
    if (description.outcome === 'refused') {
      call.end(causeOfMedia(description))
      return
    }
    const dialogsOf = () => [caller.snapshot(incoming.dialog), callee.snapshot(session.dialog)]
    if (!(await call.persistAnswer(target, dialogsOf))) return
    await call.record(caller, callee)
    // Null when the caller cancelled first: that has ended the call.
    caller.session = incoming.accept({ body: sdpBody(description.value) }, caller)
    call.establish()
  }
}
