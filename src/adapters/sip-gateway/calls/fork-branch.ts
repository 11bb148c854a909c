import type { OutgoingCall } from '@trunkline/sip/dialog/outgoing-call.ts'
import type { SipResponse } from '@trunkline/sip/message.ts'
import type { Flow } from '@trunkline/sip/transport/flow.ts'
import type { RequestOptions } from '@trunkline/sip/user-agent/request.ts'
import type { RequestOutcome } from '@trunkline/sip/user-agent/uac.ts'
import type { MediaLeg } from '../../../ports/media.ts'
import type { GatewayDeps } from '../gateway-deps.ts'
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
  private readonly request: RequestOptions
  readonly offer: string
  private call: OutgoingCall | null = null

  constructor(side: CallLeg, ask: RequestOptions, offer: string) {
    this.leg = side
    this.request = ask
    this.offer = offer
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
