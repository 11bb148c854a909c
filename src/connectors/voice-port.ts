import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { LinkState, MediaLegStats, MediaRecording, MediaSrtp } from './port.ts'

/**
 * The port of voice: types only. The gateway speaks SIP to browsers (over WebSocket) and to trunks, and bridges their media.
 * What may be done, and what is written down of it, a desk decides: the gateway asks it before every step that matters, and
 * goes on only after its promise resolved.
 */

/** Who a browser belongs to: uuids without prefix. */
export type VoicePerson = { readonly account: string; readonly user: string }

/** A refusal in SIP's words (RFC 3261, 21), such as 403 and `claims and SIP identity do not match`. */
export type VoiceRefusal = { readonly status: number; readonly reason: string }

export type VoiceAsked<T> = { readonly value: T } | { readonly refused: VoiceRefusal }

/**
 * A registration that a browser asks for, its password proven, and its identity that of the username. A generation that is older than the
 * newest one given out is refused. Who has no say any more is told by the code with which the WebSocket closes, after its last call: 4001
 * replaced, 4002 expired, 4003 suspended.
 */
export type VoiceArrival = {
  /** Digest username, `<expiry>:<USR…>`. */
  readonly username: string
  /** The one that was proven: it may have been revoked since. */
  readonly password: string
  /** User part of From and To. */
  readonly identity: string
  /** Header X-Device-Gen; null when absent. */
  readonly generation: number | null
}

/** Someone is here. `until`, Unix milliseconds: no registration outlives the credentials. */
export type VoicePresence = VoicePerson & { readonly generation: number; readonly until: number }

/** A call from a browser. `to` as dialled, `from` as wished in the header X-Caller-Id; `headers` are the others that begin with X-. */
export type VoicePlaced = {
  readonly person: VoicePerson
  readonly callId: string
  readonly to: string
  readonly from: string | null
  readonly headers: { readonly [name: string]: string }
}

/** A call from a trunk. `from` and `to` as E.164 where the trunk's numbers are, else as sent. */
export type VoiceReceived = {
  readonly trunk: string
  readonly callId: string
  readonly from: string
  readonly to: string
  readonly name: string | null
  /** How the carrier verified the caller's number (3GPP TS 24.229), such as TN-Validation-Passed; null: it does not say. */
  readonly verstat: string | null
  /** The carrier has asked the portability database, and where a ported number is routed to (RFC 4694). */
  readonly npdi: boolean
  readonly rn: string | null
  /** All channels of the trunk are taken: it was refused with 503, and may be written down. */
  readonly isFull: boolean
}

/** Where a call may go; the next is tried when one fails before it rang. */
export type VoiceTarget =
  | { readonly trunk: string; readonly number: string }
  /** All of these ring at once; the first to answer has the call. */
  | { readonly people: readonly VoicePerson[] }

export type VoicePlan = {
  /** Ours: the uuid of the call's record. */
  readonly call: string
  /** E.164 that the other side is shown; for calls between browsers whatever names the caller. */
  readonly callerId: string
  readonly targets: readonly VoiceTarget[]
  readonly ringSeconds: number
  /** The file that is written; null for no recording. */
  readonly record: string | null
  /** After so many seconds of talk it is cut; null for never. */
  readonly mostSeconds: number | null
}

export type VoiceLeg = 'caller' | 'callee'

/** A SIP dialog as it is kept, so that a BYE can be sent after a crash: plain JSON of the SIP layers. */
export type VoiceDialog = { readonly leg: VoiceLeg; readonly trunk: string | null; readonly frozen: object }

/** Why a call ended. */
export type VoiceEnd = {
  readonly how:
    | 'completed'
    | 'canceled'
    | 'busy'
    | 'no_answer'
    | 'rejected'
    | 'failed'
    /** Media fell silent; the balance or the time allowed came to an end; somebody was suspended; an operator cut it. */
    | 'media_timeout'
    | 'balance'
    | 'suspended'
    | 'operator'
    | 'interrupted'
  /** The SIP status behind it, 0 for none. */
  readonly status: number
  readonly reason: string
  /** Who ended it; null for us. */
  readonly by: VoiceLeg | null
  /** How long ago it ended, ms: closing its recording takes a while, and it may be told again and again until it is written down. */
  readonly agoMs: number
  readonly stats: readonly MediaLegStats[]
  /** `left`: begun, and not ended as it should, so that a file may be there; null: none was begun. */
  readonly recording: MediaRecording | 'left' | null
}

/** A line of the story of a call, for whoever asks why it failed or was silent. `at` in Unix milliseconds. */
export type VoiceTrace = {
  readonly at: number
  readonly leg: VoiceLeg | null
  /** A SIP message's first line, an ICE pair, a codec, a reason. */
  readonly what: 'sip_in' | 'sip_out' | 'media' | 'note'
  readonly text: string
}

/** Whoever decides. Every promise resolves once what it says is durable. */
export type VoiceDesk = {
  /** The password of a digest username of ours; null when there is no such. */
  password(username: string): string | null | Promise<string | null>
  admit(arrival: VoiceArrival): Promise<VoiceAsked<VoicePresence>>
  left(person: VoicePerson, reason: 'replaced' | 'expired' | 'suspended' | 'requested'): void
  /** Writes the attempt down, refused or not. */
  place(call: VoicePlaced): Promise<VoiceAsked<VoicePlan>>
  receive(call: VoiceReceived): Promise<VoiceAsked<VoicePlan>>
  ringing(call: string, target: VoiceTarget): Promise<void>
  /** Before the answer is relayed: from now on it costs. Refused: the call is cut at once. */
  answered(call: string, by: VoiceTarget, dialogs: readonly VoiceDialog[]): Promise<VoiceAsked<null>>
  /** Every 5 s of an answered call. Refused: it is cut, with that reason (the balance came to its end). */
  beat(call: string, stats: readonly MediaLegStats[]): Promise<VoiceAsked<null>>
  /** May be told again. */
  ended(call: string, end: VoiceEnd): Promise<void>
  trace(call: string, lines: readonly VoiceTrace[]): void
}

/** A SIP trunk as it is run; addresses are IPv4 or IPv6, or networks in CIDR. */
export type VoiceTrunk = {
  readonly id: string
  readonly name: string
  readonly host: string
  readonly port: number | null
  readonly transport: 'udp' | 'tcp' | 'tls'
  /** Over TLS: PEM of the authority that alone is believed, and the name that its certificate must show when that is not its host. */
  readonly authority: string | null
  readonly serverName: string | null
  readonly username: string | null
  readonly password: string | null
  /** True: we register with the trunk, so that it finds us. */
  readonly register: boolean
  /** From where it may call us; its own address unless told. */
  readonly addresses: readonly string[]
  /** Host of our From and P-Asserted-Identity; ours unless told. */
  readonly domain: string | null
  /** How numbers are written to it. */
  readonly numbers: 'e164' | 'plus' | 'national'
  /** Of `national`: whose numbers are written with 0, all others with 00. Without it they are written as `e164`. */
  readonly callingCode?: string | null
  readonly codecs: readonly ('pcmu' | 'pcma')[]
  /** SRTP with keys in descriptions (RFC 4568). */
  readonly srtp: MediaSrtp
  readonly pingSeconds: number
  /** Calls at a time; null for no limit. */
  readonly channels: number | null
}

export type VoiceTrunkState = LinkState & {
  readonly registered: boolean | null
  readonly calls: number
  /** Milliseconds of the last OPTIONS, and when it was answered. */
  readonly pingMs: number | null
  readonly pingedAt: number | null
}

/** One thing that the doctor looked at, and what to change where it is not well. */
export type VoiceFinding = {
  readonly what: 'dns' | 'reach' | 'options' | 'registration' | 'nat' | 'tls' | 'codecs' | 'media'
  readonly well: boolean
  /** Not well, but calls work all the same. */
  readonly isWarning?: boolean
  readonly found: string
  readonly mend: string | null
}

export type VoiceGateway = {
  /** Takes over a connection that asks for SIP over WebSocket (RFC 7118). */
  open(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>
  /** Brings the trunks that run in line with these; what did not change keeps running. */
  apply(trunks: readonly VoiceTrunk[]): Promise<void>
  trunk(id: string): VoiceTrunkState | null
  isRegistered(person: VoicePerson): boolean
  /** Ends registrations, and with `calls` the calls too. `expired`: their credentials were revoked. */
  drop(people: readonly VoicePerson[], reason: 'suspended' | 'expired', calls: boolean): Promise<void>
  hangUp(call: string, reason: string): Promise<void>
  /** Sends the BYE of dialogs that a crash left behind. @returns those whose peer answered */
  release(dialogs: readonly VoiceDialog[]): Promise<number>
  /** Examines a trunk. @param echo an E.164 number behind it that answers and sends back what it hears */
  examine(trunk: string, echo: string | null): AsyncIterable<VoiceFinding>
  /** The UDP port of SIP. */
  readonly port: number
  calls(): number
  /** Takes no new calls, waits so many milliseconds for those that are, then ends them.
   *  @param isTaken another one runs in our place: what trunks know of us is left as it is, as it may be that one's */
  close(milliseconds: number, isTaken?: boolean): Promise<void>
}
