import type { Shift } from '@trunkline/phone/gsm-national.ts'
import type { ConcatenationMode } from '@trunkline/phone/segments.ts'

/**
 * Ports to external systems: types only. A connector (SMPP, SIP, DIDWW …) implements one port.
 * It knows nothing of the database, of HTTP or of a domain. The port also supplies any storage that it needs.
 */

/** A short message as it goes over the air: a whole message, or one part of a concatenated one. */
export type SmsPart = {
  /** Our ids: the message's uuid, and the part's position in the message. A resubmission has the same ids. */
  readonly message: string
  readonly part: number
  readonly parts: number
  /** E.164 with `+`. */
  readonly source: string
  readonly destination: string
  readonly text: string
  readonly encoding: 'gsm7' | 'ucs2'
  /** National language shift tables of a `gsm7` message (3GPP TS 23.038). */
  readonly shift?: Shift
  /** Reference shared by the parts of one message (3GPP TS 23.040, 9.2.3.24.1): 0 to 255. */
  readonly reference: number
  /** Concatenation mode that the parts were planned with. Default: the setting of the connection. */
  readonly concatenation?: ConcatenationMode
  /** Validity period in seconds (SMPP 3.4, 5.2.16). Default: the carrier decides. */
  readonly validSeconds?: number
}

/** The carrier's result of a submit_sm. */
export type SubmitResult =
  | { readonly outcome: 'accepted'; readonly carrierId: string }
  /** Congestion, or nothing was sent (status 0). The same submit may succeed after `seconds`. */
  | { readonly outcome: 'retry'; readonly status: number; readonly reason: string; readonly seconds: number }
  /** The same submit will never succeed. */
  | { readonly outcome: 'refused'; readonly status: number; readonly reason: string }
  /** The link broke, or no answer came. The carrier may or may not have the message. */
  | { readonly outcome: 'unknown'; readonly reason: string }

/** A delivery receipt (SMPP 3.4, appendix B). */
export type SmsReceipt = {
  readonly carrierId: string
  readonly state:
    | 'ENROUTE'
    | 'DELIVERED'
    | 'EXPIRED'
    | 'DELETED'
    | 'UNDELIVERABLE'
    | 'ACCEPTED'
    | 'UNKNOWN'
    | 'REJECTED'
  /** Error code of the network, as the carrier writes it. */
  readonly error: string | null
  /** Recipient and sender of the message, where the carrier states them. */
  readonly handset?: string
  readonly number?: string
}

/** A short message from a handset, possibly one part of a long one. */
export type SmsInbound = {
  readonly source: string
  readonly destination: string
  readonly text: string
  /** Present when the handset sent the message in parts. */
  readonly concat: { readonly reference: number; readonly part: number; readonly parts: number } | null
  /** The part as received, opaque outside the connector. Parts may split a character, so joining precedes decoding. */
  readonly raw?: { readonly octets: Buffer; readonly coding: number }
  /** Session of the bind that delivered the message; every new bind has another one. A carrier that sends a message
   *  again after a broken link does so in another session. */
  readonly link?: string
}

export type LinkState = {
  readonly state: 'connecting' | 'bound' | 'up' | 'down' | 'closed'
  /** When the link entered that state: Unix milliseconds of the real clock. */
  readonly since: number
  readonly lastError: string | null
  readonly inFlight: number
  readonly submitted: number
}

/** A bind of a connection. */
export type BindState = LinkState & {
  readonly bind: 'transceiver' | 'transmitter' | 'receiver'
  /** The carrier refuses the account itself, for example its password. The next attempt follows only after minutes. */
  readonly fatal: boolean
}

/** A carrier is `bound` while one of its binds can send (for receivers: receive). Counts are sums over its binds. */
export type CarrierState = LinkState & {
  readonly fatal: boolean
  /** Unanswered submits that the carrier allows at this moment. */
  readonly window: number
  readonly binds: readonly BindState[]
}

/** Callbacks of a carrier. The connector acknowledges to the peer only after the promise resolves, when the event is
 *  committed. After a rejection it answers with a temporary error, so that the peer sends again. */
export type SmsEvents = {
  inbound(message: SmsInbound): Promise<void>
  receipt(receipt: SmsReceipt): Promise<void>
  /** The link went up or down, or its window has capacity again. */
  changed(): void
}

export type SmsCarrier = {
  /** Number of further parts that the carrier can take at this moment; 0 while the link is down. */
  freeWindow(): number
  submit(part: SmsPart): Promise<SubmitResult>
  state(): CarrierState
  /** True if `state` is `bound`. Unlike `state`, it collects nothing: submits ask for it. */
  isBound(): boolean
  /** Unbinds once submits in flight are answered, after at most 5 s. */
  close(): Promise<void>
}
