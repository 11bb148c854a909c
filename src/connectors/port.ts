import type { LongMode } from '../lib/segments.ts'

/**
 * The ports to the outside world: types only. A connector (smpp/, sip/, didww/ …) implements one of them and knows
 * nothing of the database, of HTTP or of a domain; what it needs kept is handed to it through the port.
 */

/** One short message as it goes over the air: a whole text, or one part of a long one. */
export type SmsPart = {
  /** Ours: the message's uuid and the part's place in it. Stable over resubmissions. */
  readonly message: string
  readonly part: number
  readonly parts: number
  /** E.164 with `+`. */
  readonly source: string
  readonly destination: string
  readonly text: string
  readonly encoding: 'gsm7' | 'ucs2'
  /** Reference shared by the parts of one message (3GPP TS 23.040, 9.2.3.24.1): 0 to 255. */
  readonly reference: number
  /** How the parts of this message are tied, where it is not as the connection's settings say: they were planned so. */
  readonly long?: LongMode
  /** Seconds for which the carrier may go on trying; as long as it likes unless told (SMPP 3.4, 5.2.16). */
  readonly validSeconds?: number
}

/** What the carrier said to a submit_sm. */
export type SubmitResult =
  | { readonly outcome: 'accepted'; readonly carrierId: string }
  /** Congestion, or nothing was sent (status 0): the same submit may succeed after so many seconds. */
  | { readonly outcome: 'retry'; readonly status: number; readonly reason: string; readonly seconds: number }
  /** The same submit will never succeed. */
  | { readonly outcome: 'refused'; readonly status: number; readonly reason: string }
  /** The link broke, or the answer did not come: the carrier may or may not have the message. */
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
  /** The network's error code, as the carrier wrote it. */
  readonly error: string | null
  /** The handset that the message went to and the number that it came from, as far as the carrier says. */
  readonly handset?: string
  readonly number?: string
}

/** A short message from a handset, possibly one part of a long one. */
export type SmsInbound = {
  readonly source: string
  readonly destination: string
  readonly text: string
  /** Present when the handset sent the text in parts. */
  readonly concat: { readonly reference: number; readonly part: number; readonly parts: number } | null
  /** The part as it came, opaque to all but the connector: parts may split a character, so they are decoded once joined. */
  readonly raw?: { readonly octets: Buffer; readonly coding: number }
  /** The life of the link that it came over: another one after every bind that broke. What a carrier sends again after a cut link
   *  comes over another one than before. */
  readonly link?: string
}

export type LinkState = {
  readonly state: 'connecting' | 'bound' | 'up' | 'down' | 'closed'
  /** When it entered that state, Unix milliseconds by the real clock. */
  readonly since: number
  readonly lastError: string | null
  readonly inFlight: number
  readonly submitted: number
}

/** One bind of a connection. */
export type BindState = LinkState & {
  readonly bind: 'transceiver' | 'transmitter' | 'receiver'
  /** The carrier refuses the account itself (a wrong password, say): it is asked again only after minutes. */
  readonly fatal: boolean
}

/** A carrier is `bound` while one of its binds can send (for receivers: receive); counts are those of all its binds. */
export type CarrierState = LinkState & {
  readonly fatal: boolean
  /** Unanswered submits that it takes at this moment. */
  readonly window: number
  readonly binds: readonly BindState[]
}

/** What a carrier asks of us. It answers its peer only after the promise resolves: the thing is kept then. A rejection
 *  makes it answer with a temporary error, so that the peer sends again. */
export type SmsEvents = {
  inbound(message: SmsInbound): Promise<void>
  receipt(receipt: SmsReceipt): Promise<void>
  /** The link went up or down, or its window has room again. */
  changed(): void
}

export type SmsCarrier = {
  /** How many more parts the carrier can take at this moment: 0 while the link is down. */
  room(): number
  submit(part: SmsPart): Promise<SubmitResult>
  state(): CarrierState
  /** Unbinds after what is in flight, 5 s at most. */
  close(): Promise<void>
}

/** What a supplier said. */
export type Asked<T> =
  | { readonly outcome: 'done'; readonly value: T }
  /** It never will; the reason is in the supplier's words, and the code the one that it gives, where it gives one. */
  | { readonly outcome: 'refused'; readonly reason: string; readonly code?: string }
  /** Nothing has happened there: it may be asked again after so many seconds. */
  | { readonly outcome: 'later'; readonly seconds: number; readonly reason: string; readonly code?: string }
  /** The answer was lost: the supplier may or may not have done it. Only of what changes something there. */
  | { readonly outcome: 'unknown'; readonly reason: string }

/** A way to buy from a group: prices in US dollars, decimal, each month again, and the calls at a time that are in them. */
export type SupplierOffer = {
  readonly sku: string
  readonly setup: string
  readonly monthly: string
  readonly channels: number
}

/** Numbers that share country, area and type. Ids are the supplier's. */
export type SupplierGroup = {
  readonly id: string
  /** ISO 3166-1 alpha-2, and the calling code. */
  readonly country: string
  readonly callingCode: string
  readonly type: 'global' | 'local' | 'mobile' | 'national' | 'sharedcost' | 'tollfree'
  /** Digits after the calling code. */
  readonly prefix: string
  readonly area: string
  /** `code` is the subdivision's of ISO 3166-2, without the country. */
  readonly region: { readonly name: string; readonly code: string | null } | null
  readonly city: string | null
  /** In the supplier's words, such as `voice_in`, `sms_in`. */
  readonly features: readonly string[]
  readonly available: number
  /** True when a number may be chosen; else any one of the group is sold. */
  readonly selectable: boolean
  /** What the regulator asks of who takes a number; null when it asks for nothing. */
  readonly registration: string | null
  readonly offers: readonly SupplierOffer[]
}

/** A number that can be had; `number` is E.164. */
export type SupplierNumber = { readonly id: string; readonly group: string | null; readonly number: string }

/** `until` by the real clock, Unix milliseconds. */
export type SupplierReservation = { readonly id: string; readonly until: number }

export type SupplierOrder = { readonly id: string; readonly state: 'pending' | 'completed' | 'canceled' }

export type SupplierDelivery = { readonly id: string; readonly number: string; readonly awaitsRegistration: boolean }

/** Who sells numbers to us. Nothing here throws; every wait is bounded. */
export type NumberSupplier = {
  /** A page of the groups, from 1; `next` is null on the last one. */
  groups(page: number): Promise<Asked<{ groups: readonly SupplierGroup[]; next: number | null }>>
  /** Some free numbers by chance: of a group, with these digits in them. */
  available(group: string | null, digits: string): Promise<Asked<readonly SupplierNumber[]>>
  /** Holds a number for us, under an id of ours by which `reservation` finds it. */
  reserve(number: string, ours: string): Promise<Asked<SupplierReservation>>
  reservation(ours: string): Promise<Asked<SupplierReservation | null>>
  cancelReservation(id: string): Promise<Asked<null>>
  /** Orders one number, never one that is out of stock. After `unknown` ask `findOrder` before it is asked again. */
  order(order: {
    /** Ours, at most 100 characters. */
    readonly reference: string
    readonly sku: string
    readonly item: { readonly number: string } | { readonly reservation: string } | 'any'
    /** Where it tells that the order has ended. */
    readonly callback: string | null
  }): Promise<Asked<SupplierOrder>>
  findOrder(reference: string): Promise<Asked<SupplierOrder | null>>
  orderState(id: string): Promise<Asked<SupplierOrder>>
  /** The numbers of a completed order. */
  delivered(order: string): Promise<Asked<readonly SupplierDelivery[]>>
  /** The number is not renewed any more. Asking twice changes nothing. */
  end(id: string): Promise<Asked<null>>
  /** Asks for something small; says what it heard. */
  check(): Promise<Asked<string>>
  /** True when a callback to this address with these parameters was signed by the supplier. */
  isGenuine(url: string, parameters: ReadonlyMap<string, string>, signature: string): boolean
  state(): LinkState
}

/** What a media engine said; the cause decides what a caller is told: 503, 488, 488, 500 in SIP's words. */
export type MediaAnswer<T> =
  | { readonly outcome: 'done'; readonly value: T }
  | {
      readonly outcome: 'refused'
      /** No room for one more call; no codec in common; a description that cannot be used; asked for at the wrong time, or gone. */
      readonly cause: 'full' | 'codec' | 'description' | 'state'
      readonly reason: string
    }

export type MediaCodec = 'opus' | 'pcmu' | 'pcma'

/** As in SDP (RFC 8866, 6.7), seen from who says it. */
export type MediaDirection = 'sendrecv' | 'sendonly' | 'recvonly' | 'inactive'

/** What happens to a call's media. `leg` is the name it was made with; null when it concerns the call as a whole. */
export type MediaEvents = {
  /** Media can flow: ICE and DTLS are done, or the first packet of a plain leg has come. Once for each leg. */
  connected(leg: string): void
  /** A key was pressed (RFC 4733): each press once. */
  dtmf(leg: string, digit: string): void
  /** So many seconds without a packet on a leg that is connected and not held. Told once, and again after packets came. */
  silence(leg: string, seconds: number): void
  /** The leg, or with null the call, is at its end: nothing more will flow. */
  failed(leg: string | null, reason: string): void
  /** Packets from this address and port are dropped: nothing announced it. Once for each, a few times for a leg. */
  dropped(leg: string, from: string, expected: string): void
}

export type MediaLegStats = {
  readonly leg: string
  readonly codec: MediaCodec | null
  /** `lost` of what was sent is as the peer reports it. Null where the engine does not tell. */
  readonly received: {
    readonly packets: number
    readonly bytes: number
    readonly lost: number | null
    readonly jitterMs: number | null
  }
  readonly sent: { readonly packets: number; readonly bytes: number; readonly lost: number | null }
  /** Packets that came from addresses that nothing announced. Null where the engine does not count them. */
  readonly dropped: number | null
  /** By RTCP; null until known. */
  readonly roundTripMs: number | null
  /** When the last packet came, Unix milliseconds; null before the first. */
  readonly lastMediaAt: number | null
  /** Addresses with ports: of a browser's leg the ICE pair in use, of a plain one where media go. */
  readonly local: string | null
  readonly remote: string | null
}

/** A recording: stereo, 16 bits, 8,000 samples a second. */
export type MediaRecording = { readonly seconds: number; readonly bytes: number; readonly sha256: string }

/** One side of a call. */
export type MediaLeg = {
  readonly id: string
  /** Our session description: an offer when the leg was made without one, else the answer. An answer is agreed with the other leg of a
   *  bridge: ask for it after that one has its own, or it promises what this leg alone could do. */
  describe(): Promise<MediaAnswer<string>>
  /** Takes the peer's answer to our offer. A second one, as after early media, replaces the first.
   *  @param source the address that the peer's signalling comes from, as in MediaLegWish */
  accept(answer: string, source?: string): Promise<MediaAnswer<null>>
  /** Takes a new offer of the peer: hold, another address, an ICE restart. Gives our answer. */
  renegotiate(offer: string): Promise<MediaAnswer<string>>
  /** A new offer of ours in which we say this direction; `accept` takes the answer. */
  reoffer(direction: MediaDirection): Promise<MediaAnswer<string>>
  /** Presses keys towards the peer: 100 ms each, 50 ms apart; done when the last one is sent. */
  press(digits: string): Promise<MediaAnswer<null>>
  /** A tone of so many hertz towards the peer instead of what the bridge brings, until null. G.711 only. */
  play(hertz: number | null): Promise<MediaAnswer<null>>
}

/** SRTP with keys in descriptions (RFC 4568) on a plain leg. `offer`: encrypted where the peer can. */
export type MediaSrtp = 'never' | 'offer' | 'require'

export type MediaLegWish = {
  /** Ours, such as `agent` and `trunk`. */
  readonly id: string
  readonly kind: 'webrtc' | 'rtp'
  /** The peer's, or null when we offer. */
  readonly offer: string | null
  /** What may be agreed, best first. */
  readonly codecs: readonly MediaCodec[]
  /** The address that the peer's signalling comes from: media may come from there too, when the peer sits behind a NAT. */
  readonly source?: string
  /** Of a plain leg; never unless told. */
  readonly srtp?: MediaSrtp
}

/** The media of one call; it ends with close() or with `failed(null)`. */
export type MediaCall = {
  addLeg(wish: MediaLegWish): Promise<MediaAnswer<MediaLeg>>
  /** What one leg hears the other one says, both ways; digits too. */
  bridge(one: MediaLeg, other: MediaLeg): Promise<MediaAnswer<null>>
  /** Writes what comes from two legs of G.711 to a WAV file, one to each channel. It is on disk a second behind. */
  startRecording(path: string, left: MediaLeg, right: MediaLeg): Promise<MediaAnswer<null>>
  stopRecording(): Promise<MediaAnswer<MediaRecording>>
  stats(): Promise<MediaAnswer<readonly MediaLegStats[]>>
  /** Ends every leg, and a recording that still runs. Asking twice changes nothing. */
  close(): Promise<void>
}

export type MediaEngine = {
  /** Refused with `full` when there is no room for one more. */
  openCall(events: MediaEvents): Promise<MediaAnswer<MediaCall>>
  /** Calls at this moment, and how many there is room for. */
  state(): { readonly calls: number; readonly room: number }
  close(): Promise<void>
}
