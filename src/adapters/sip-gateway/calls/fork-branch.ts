import type { OutgoingCall } from '@trunkline/sip/dialog/outgoing-call.ts'
import { tagOf, toOf } from '@trunkline/sip/fields.ts'
import type { SipResponse } from '@trunkline/sip/message.ts'
import type { Flow } from '@trunkline/sip/transport/flow.ts'
import type { RequestOptions } from '@trunkline/sip/user-agent/request.ts'
import type { RequestOutcome } from '@trunkline/sip/user-agent/uac.ts'
import type { MediaLeg } from '../../../ports/media.ts'
import type { GatewayDeps } from '../gateway-deps.ts'
import { maxForks } from '../limits.ts'
import { type CallLeg, sdpBody } from './call-leg.ts'

export type ForkBranchEvents = {
  /** @param flow the flow of the response */
  progress(response: SipResponse, flow: Flow): void
  accepted(response: SipResponse, flow: Flow): void
  refused(outcome: RequestOutcome): void
}

/** One branch of a forked call: a telephone or browser that is asked to answer. */
export class ForkBranch {
  readonly leg: CallLeg
  readonly request: RequestOptions
  readonly offer: string
  /** Answers to our offer in reliable provisional responses, by the tag of the peer. */
  private readonly reliableAnswers = new Map<string, string>()
  /** Redirections that led to this branch. */
  readonly redirections: readonly string[]
  private call: OutgoingCall | null = null

  constructor(side: CallLeg, ask: RequestOptions, offer: string, redirections: readonly string[] = []) {
    this.redirections = redirections
    this.leg = side
    this.request = ask
    this.offer = offer
  }

  /** Notes an answer that the final response need not repeat (RFC 3262, 5). Other provisional ones only announce it. */
  noteReliableAnswer(response: SipResponse): void {
    const tag = tagOf(toOf(response)) ?? ''
    if (this.reliableAnswers.size < maxForks) this.reliableAnswers.set(tag, response.body.toString())
  }

  /** The answer that precedes a final response without one; null if none did. */
  reliableAnswer(response: SipResponse): string | null {
    return this.reliableAnswers.get(tagOf(toOf(response)) ?? '') ?? null
  }

  get media(): MediaLeg {
    return this.leg.media
  }

  start({ agent }: GatewayDeps, events: ForkBranchEvents): void {
    this.call = agent.invite(
      { ...this.request, body: sdpBody(this.offer) },
      {
        progress: (response, flow) => events.progress(response, flow),
        accepted: (response, session, flow) => {
          this.leg.session = session
          events.accepted(response, flow)
        },
        refused: (outcome) => events.refused(outcome),
        session: this.leg,
      },
    )
  }

  /** @param isTaken another branch has answered, so this is no missed call (RFC 3326) */
  cancel(isTaken = false): void {
    this.call?.cancel(isTaken ? [['Reason', 'SIP;cause=200;text="Call completed elsewhere"']] : [])
  }
}
