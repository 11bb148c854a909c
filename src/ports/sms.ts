import type { Language, Shift } from '@trunkline/phone/gsm-national.ts'
import type { SegmentHeader } from '@trunkline/phone/segments.ts'
import type { Callback, CallbackReply } from './callback.ts'

/**
 * The port to SMS carriers: types only. One `SmsCarrier` runs per stored connection in each process that has a share of
 * it. An adapter implements an `SmsDriver`. It knows nothing of the database, of our HTTP interface or of a domain.
 */

/** What a carrier can do, by the settings of its connection. */
export type SmsCapabilities = {
  /** Messages may be sent over the connection. */
  readonly send: boolean
  /** `whole`: the carrier splits a long text itself. `parts`: it gets a long text in parts. Both get the remaining parts
   *  of a text that another carrier has accepted a part of. */
  readonly texts: 'whole' | 'parts'
  /** The header that the carrier adds to parts. The longer one leaves less room for text. */
  readonly header: SegmentHeader
  /** Languages whose shift tables (3GPP TS 23.038) the carrier and its handsets support. */
  readonly languages: readonly Language[]
  /** Messages may have files (`SmsPart.media`). Default: no. */
  readonly mms?: boolean
  /** Delivery receipts arrive. */
  readonly receipts: boolean
  /** Messages of handsets arrive. */
  readonly inbound: boolean
  /** The carrier may be asked for the state of a part (`SmsCarrier.query`). Absent: no. */
  readonly queries?: boolean
  /** Parts per second that the adapter keeps to; null: no limit. */
  readonly pace: number | null
  /** Number of processes that may share the connection, as many as it may have links. Default: 1. */
  readonly slots?: number
  /** Parts get a callback address (`SmsPart.callback`). Default: no. */
  readonly callbacks?: boolean
  /** Handling of a lost response unless the settings say otherwise: submit again at once, or wait for a receipt first.
   *  Default: `resubmit`. */
  readonly lostResponse?: 'resubmit' | 'hold'
}

/** Where a carrier reports on a part. `token` names the part and carries a MAC: it must come back with each receipt, in
 *  the query of the address or in a field of the carrier. At most 80 characters: letters, digits, `-`, `_` and `.`. */
export type PartCallback = { readonly url: string; readonly token: string }

/** The part of a connection that a process has: `held` of `of` slots. Links, pace and window are the same part of those
 *  that the settings allow; the rest belongs to other processes. */
export type SmsShare = { readonly held: number; readonly of: number }

/** A short message as it goes to a carrier: a whole text, or one part of a long one. */
export type SmsPart = {
  /** Our ids: the message's uuid, and the part's position in the message. A resubmission has the same ids. */
  readonly message: string
  readonly part: number
  /** Number of parts; 1 for a whole text, however long. */
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
  /** Header that the text was segmented for. Default: the one of the capabilities. */
  readonly header?: SegmentHeader
  /** Validity period in seconds. Default: the carrier decides. */
  readonly validSeconds?: number
  /** Addresses of the files of an MMS, for as long as links are valid. The text may then be empty. */
  readonly media?: readonly string[]
  /** Present if the capabilities ask for it. */
  readonly callback?: PartCallback
}

/** Why a part was not sent: the connection is down, has no capacity, or the sender is at its rate limit. */
export type UnsentReason = 'link_down' | 'no_capacity' | 'sender_rate_limit'

/** Result of a submit. `reason` is a stable code of the driver. People see it as the error code. */
export type SubmitResult =
  | { readonly outcome: 'accepted'; readonly carrierId: string }
  /** The carrier is congested. The same submit may succeed after `seconds`. */
  | { readonly outcome: 'retry'; readonly wasSent: true; readonly reason: string; readonly seconds: number }
  /** Nothing was sent, so this says nothing about the carrier. */
  | { readonly outcome: 'retry'; readonly wasSent: false; readonly reason: UnsentReason; readonly seconds: number }
  /** The same submit will never succeed. `detail`: the carrier's words, for the operator. */
  | { readonly outcome: 'refused'; readonly reason: string; readonly detail?: string }
  /** No answer came, or one that says nothing. The carrier may or may not have the part. */
  | { readonly outcome: 'unknown'; readonly reason: 'unanswered'; readonly detail: string }

/** State of a part by its receipt. `enroute`, `accepted` and `unknown` are not final. */
export type ReceiptState = 'enroute' | 'accepted' | 'unknown' | 'delivered' | 'undelivered' | 'expired' | 'rejected'

/** A delivery receipt. */
export type SmsReceipt = {
  /** `SmsPart.callback.token`, if the carrier repeated it: the receipt then names its part, whatever the carrier's id. */
  readonly token?: string
  readonly carrierId: string
  readonly state: ReceiptState
  /** Error code of the network, as the carrier writes it. */
  readonly error: string | null
  /** Recipient and sender of the message, where the carrier states them. */
  readonly handset?: string
  readonly number?: string
}

/** A part that a carrier accepted, as it is asked for. */
export type QueriedPart = {
  /** The carrier's id, as the response to the submit had it. */
  readonly carrierId: string
  /** Sender of the message: E.164 with `+`, a short code, or letters. */
  readonly source: string
}

/** The answer of a carrier that was asked for the state of a part. */
export type QueryResult =
  | { readonly outcome: 'state'; readonly state: ReceiptState; readonly error: string | null }
  /** No answer for this part. `isUnsupported`: the carrier answers such questions for no part. `reason` is a stable code
   *  of the driver, or `unanswered`. */
  | { readonly outcome: 'refused'; readonly reason: string; readonly isUnsupported: boolean }
  /** Nothing was sent, or the carrier is busy. */
  | { readonly outcome: 'retry' }

/** A receipt that the adapter cannot read, as the operator sees it. */
export type UnparsedReceipt = {
  readonly reason: 'no_id' | 'unknown_state'
  readonly handset: string
  readonly number: string
  /** The octets of its text as received. */
  readonly octets: Buffer
  /** The labels of the octets, such as their coding, and the values of optional fields, in hexadecimal. */
  readonly fields: Readonly<Record<string, string>>
}

/** The octets of a part as received, with their coding. Only the driver can read them. */
export type RawPart = { readonly octets: Buffer; readonly coding: number }

/** A file of an inbound MMS, where the carrier keeps it. */
export type InboundMedia = {
  readonly url: string
  /** MIME type by the carrier, if it states one. */
  readonly mimeType?: string
}

/** A short message from a handset, possibly one part of a long one. */
export type SmsInbound = {
  readonly source: string
  readonly destination: string
  readonly text: string
  /** Present when the handset sent the message in parts. */
  readonly concat: { readonly reference: number; readonly part: number; readonly parts: number } | null
  /** Set if parts may split a character: they are joined before they are decoded (`joinParts`). */
  readonly raw?: RawPart
  /** Files of an MMS. Default: none. */
  readonly media?: readonly InboundMedia[]
  /** The carrier's id of the message, if a message that it sends again has the same one. */
  readonly id?: string
  /** Changes when the connection broke. A carrier that sends a message again does so under another one. */
  readonly link?: string
}

/** State of a connection of any kind. */
export type LinkState = {
  readonly state: 'connecting' | 'up' | 'down' | 'closed'
  /** When the link entered that state: Unix milliseconds of the real clock. */
  readonly since: number
  readonly lastError: string | null
  readonly inFlight: number
  readonly submitted: number
}

/** One of the links of a connection. */
export type CarrierLink = LinkState & {
  /** The driver's name for this kind of link. */
  readonly name: string
  /** The carrier refuses the account itself, for example its password. The next attempt follows only after minutes. */
  readonly fatal: boolean
}

/** A carrier is `up` while one of its links can send or, if it only receives, receive. Counts are sums. */
export type CarrierState = LinkState & {
  readonly fatal: boolean
  /** Unanswered submits that the carrier allows at this moment. */
  readonly window: number
  readonly links: readonly CarrierLink[]
}

/** Handlers of what a carrier delivers. The adapter acknowledges to the peer only after the promise resolves, when the
 *  event is committed. After a rejection it answers with a temporary error, so that the peer sends again. */
export type SmsIntake = {
  inbound(message: SmsInbound): Promise<void>
  receipt(receipt: SmsReceipt): Promise<void>
  /** Applies a receipt that a handset may have written: only if a part was sent to its handset under its id.
   *  @returns false otherwise; the adapter then passes it on as a message */
  receiptIfSent(receipt: SmsReceipt): Promise<boolean>
  /** Keeps a receipt that the adapter cannot read. */
  unparsed(receipt: UnparsedReceipt): Promise<void>
}

export type SmsEvents = SmsIntake & {
  /** The link went up or down, or its window has capacity again. */
  changed(): void
}

export type SmsCarrier = {
  /** Number of further parts that the carrier can take at this moment; 0 while the link is down. */
  freeWindow(): number
  /** Never rejects. */
  submit(part: SmsPart): Promise<SubmitResult>
  /** Asks for the state of a part, within the pace and the window of submits. Never rejects. Absent: the carrier cannot
   *  be asked. */
  query?(part: QueriedPart): Promise<QueryResult>
  state(): CarrierState
  /** True if `state` is `up`, or if a part may try whether it is. Unlike `state`, it collects nothing: submits ask for
   *  it. */
  isUp(): boolean
  /** Asks the carrier for something harmless, such as the balance, and says in words what it answered. Never rejects.
   *  Absent: the state tells. */
  test?(): Promise<{ readonly working: boolean; readonly message: string }>
  /** Disconnects once submits in flight are answered, after at most 5 s. */
  close(): Promise<void>
}

/** A request of a carrier to the callback address of a connection. */
export type SmsCallback = Callback & {
  /** Whether the token is of a part of this connection; compares in constant time. */
  isGenuine(token: string): boolean
}

/** Tools of an adapter. */
export type SmsDeps = {
  readonly events: SmsEvents
  /** A carrier whose share changes is closed, and connected again. */
  readonly share: SmsShare
  /** Whether another process was connected within the last minute. The carrier may still count its links: the refusal of
   *  a further one is then no refusal of the account, and is tried again soon. */
  mayCountFormerLinks(): boolean
  log(level: 'debug' | 'info' | 'warn', event: string, details: Record<string, string | number>): void
  /** Whether each frame is logged, at debug. */
  readonly traces: boolean
}

/** What helps after a reason: the code of a next step of timelines. */
export type SmsAdvice = 'check_number' | 'change_text' | 'other_sender' | 'send_again' | 'check_settings'

/** A kind of SMS carrier, configured by settings. Secrets may be missing from settings, except in `connect`. */
export type SmsDriver<Settings> = {
  capabilitiesOf(settings: Settings): SmsCapabilities
  /** Connects, and stays connected until closed; may load its code first. Never fails: the state shows what failed. */
  connect(settings: Settings, deps: SmsDeps): SmsCarrier | Promise<SmsCarrier>
  /** Decodes the text of a long message from its parts, in order. Required if inbound parts are `raw`. */
  joinParts?(parts: readonly (RawPart & { readonly part: number })[]): string
  /** Answers requests of the carrier to our callback address, in any process: receipts and inbound messages of carriers
   *  without a lasting connection. Must verify that the request is genuine; answers 401 if it is not. */
  callback?(settings: Settings, request: SmsCallback, intake: SmsIntake): Promise<CallbackReply>
  /** Headers with which a file of an inbound message is fetched: credentials only for an address of the carrier itself.
   *  Absent: none. */
  mediaHeaders?(settings: Settings, url: string): Readonly<Record<string, string>>
  /** The status of accepted submits in metrics. */
  readonly acceptedStatus: string
  /** Whether a reason belongs to the fixed set of the protocol. All others share one label in metrics. */
  isKnownReason(reason: string): boolean
  /** Reasons in words for people. */
  readonly reasons: ReadonlyMap<string, { readonly text: string; readonly advice: SmsAdvice }>
}
