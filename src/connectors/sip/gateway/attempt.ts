import type { MediaLeg } from '../../port.ts'
import type { Ask } from '../codec/agent/ask.ts'
import type { Outcome } from '../codec/agent/exchange.ts'
import type { OutgoingCall } from '../codec/dialog/outgoing.ts'
import type { SipResponse } from '../codec/message.ts'
import type { Flow } from '../codec/transport/flow.ts'
import type { Parts } from './parts.ts'
import { described, type Side } from './side.ts'

export type AttemptEvents = {
  /** @param flow how the answer came */
  progress(response: SipResponse, flow: Flow): void
  accepted(response: SipResponse, flow: Flow): void
  refused(outcome: Outcome): void
}

/** One telephone or browser that is asked to answer. */
export class Attempt {
  readonly side: Side
  private readonly ask: Ask
  readonly offer: string
  private call: OutgoingCall | null = null

  constructor(side: Side, ask: Ask, offer: string) {
    this.side = side
    this.ask = ask
    this.offer = offer
  }

  get media(): MediaLeg {
    return this.side.media
  }

  start({ agent }: Parts, events: AttemptEvents): void {
    this.call = agent.invite(
      { ...this.ask, body: described(this.offer) },
      {
        progress: (response, flow) => events.progress(response, flow),
        accepted: (response, session, flow) => {
          this.side.session = session
          events.accepted(response, flow)
        },
        refused: (outcome) => events.refused(outcome),
        session: this.side,
      },
    )
  }

  /** @param isTaken somebody else has answered: no missed call (RFC 3326) */
  cancel(isTaken = false): void {
    this.call?.cancel(isTaken ? [['Reason', 'SIP;cause=200;text="Call completed elsewhere"']] : [])
  }
}
