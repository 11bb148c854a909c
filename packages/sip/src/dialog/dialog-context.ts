import type { SipRequest, SipResponse } from '../message.ts'
import type { Timers } from '../timers.ts'
import type { ServerTransaction } from '../transaction/server-transaction.ts'
import type { Flow } from '../transport/flow.ts'
import type { UacRequest, UacRequestOptions } from '../user-agent/uac.ts'
import type { Dialog } from './dialog.ts'

/** The component that handles the messages of a dialog. */
export type DialogUser = {
  readonly dialog: Dialog
  /** A request of the peer whose sequence number was checked. */
  request(transaction: ServerTransaction): void
  /** The ACK to our 2xx. */
  acknowledged(ack: SipRequest): void
  /** A repeated 2xx to our INVITE. */
  repeatedOk(response: SipResponse): void
}

/** Services of the user agent for its dialogs. */
export type DialogContext = {
  readonly timers: Timers
  readonly random: () => number
  /** Session refresh interval in seconds (RFC 4028); 0 disables session timers. */
  readonly sessionSeconds: number
  readonly allow: string
  readonly supported: string
  register(key: string, user: DialogUser): void
  unregister(key: string, user: DialogUser): void
  /** Sends a request within a dialog. */
  sendRequest(dialog: Dialog, request: SipRequest, options?: UacRequestOptions): UacRequest
  /** Sends an ACK within a dialog. Returns a function that sends it again. */
  acknowledge(dialog: Dialog, ack: SipRequest): () => void
  /** Our Contact over a flow, as a header value. */
  contact(flow: Flow): string
  /** Reports an internal error while handling a peer's message. */
  onError(error: unknown): void
}
