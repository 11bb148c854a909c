import type { Exchange, ExchangeOptions } from '../agent/exchange.ts'
import type { SipRequest, SipResponse } from '../message.ts'
import type { Timers } from '../timers.ts'
import type { ServerTransaction } from '../transaction/server.ts'
import type { Flow } from '../transport/flow.ts'
import type { Dialog } from './dialog.ts'

/** Who speaks within a dialog. */
export type DialogUser = {
  readonly dialog: Dialog
  /** A request of the peer's, whose order has been checked. */
  request(transaction: ServerTransaction): void
  /** The ACK to a 2xx of ours. */
  acknowledged(ack: SipRequest): void
  /** A 2xx to an INVITE of ours that came again. */
  late(response: SipResponse): void
}

/** What dialogs ask of the agent that they belong to. */
export type Core = {
  readonly timers: Timers
  readonly random: () => number
  /** Seconds between two signs of life of a call (RFC 4028); 0 for none. */
  readonly sessionSeconds: number
  readonly allow: string
  readonly supported: string
  keep(key: string, user: DialogUser): void
  forget(key: string, user: DialogUser): void
  /** Sends a request within a dialog. */
  within(dialog: Dialog, request: SipRequest, options?: ExchangeOptions): Exchange
  /** Sends an ACK within a dialog; gives what sends it again. */
  acknowledge(dialog: Dialog, ack: SipRequest): () => void
  /** Our Contact over a flow, as a header's value. */
  contact(flow: Flow): string
  /** Something of ours threw while it worked for a peer. */
  fault(error: unknown): void
}
