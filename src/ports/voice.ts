import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { MediaCall, MediaLeg, MediaLegStats, MediaRecording, MediaSrtp } from './media.ts'
import type { LinkState } from './sms.ts'

/**
 * The port of voice: types only. The gateway speaks SIP to browsers (over WebSocket) and to trunks, and bridges their
 * media. Call control decides what is allowed and stores the CDRs. The gateway calls it before every relevant step, and
 * continues only after the promise resolves.
 */

/** The user of a browser: uuids without prefix. */
export type VoiceUser = { readonly account: string; readonly user: string }

/** A SIP response that refuses (RFC 3261, 21), such as 403 `claims and SIP identity do not match`. */
export type VoiceRefusal = { readonly status: number; readonly reason: string }

export type VoiceDecision<T> = { readonly value: T } | { readonly refused: VoiceRefusal }

/**
 * A registration request of a browser with a proven password, whose identity matches the username. A generation older
 * than the newest one issued is refused. When a registration ends, the WebSocket closes after its last call with 4001
 * (replaced), 4002 (expired) or 4003 (suspended).
 */
export type VoiceRegisterRequest = {
  /** Digest username, `<expiry>:<USR…>`. */
  readonly username: string
  /** The proven password. It may have been revoked since. */
  readonly password: string
  /** User part of From and To. */
  readonly identity: string
  /** Header X-Device-Gen; null when absent. */
  readonly generation: number | null
}

/** A registration. `until`: Unix milliseconds, at most the end of the credentials. */
export type VoiceRegistration = VoiceUser & { readonly generation: number; readonly until: number }

/** A call from a browser. `to` as dialled; `from` as requested in X-Caller-Id; `headers`: all others with prefix X-. */
export type VoiceOutboundCall = {
  readonly person: VoiceUser
  readonly callId: string
  readonly to: string
  readonly from: string | null
  readonly headers: { readonly [name: string]: string }
}

/** A call from a trunk. Numbers are E.164 where the trunk's numbers are, otherwise as sent. */
export type VoiceInboundCall = {
  readonly trunk: string
  readonly callId: string
  /** Null if the caller withholds the number (RFC 3323; RFC 3325, 7), or the carrier states none. */
  readonly from: string | null
  /** The number that a caller withholds, where the carrier asserts it: for the operator alone. */
  readonly asserted: string | null
  readonly to: string
  readonly name: string | null
  /** The number that forwarded the call to ours (RFC 5806, RFC 7044). */
  readonly divertedFrom: string | null
  /** The carrier's verification of the caller's number (3GPP TS 24.229), such as TN-Validation-Passed; or null. */
  readonly verstat: string | null
  /** Whether the carrier queried the portability database, and the routing number of a ported number (RFC 4694). */
  readonly npdi: boolean
  readonly rn: string | null
  /** Calls of ours that led to this one, by its header X-Trunkline-Hops. Default: 0. */
  readonly hops?: number
  /** All channels of the trunk are in use. The call was refused with 503 and may get a CDR. */
  readonly isFull: boolean
}

/** A call of ours to a number of the same account, as it arrives there. `call`: our record at the calling side. */
export type VoiceOwnCall = Pick<VoiceInboundCall, 'callId' | 'from'> & { readonly call: string }

/** A destination of a call. The gateway tries the next target when one fails before it rings. */
export type VoiceTarget =
  | { readonly trunk: string; readonly number: string }
  /** All users ring at once; the first to answer takes the call. */
  | { readonly people: readonly VoiceUser[] }
  /** A number of the same account that runs a program: `receiveOwnCall` decides on the call at its side. */
  | { readonly own: string }

export type VoicePlan = {
  /** Uuid of our call record. */
  readonly call: string
  /** Uuid without prefix of the account that the call belongs to. */
  readonly account: string
  /** E.164 number shown to the other side; calls between browsers may show another name of the caller. */
  readonly callerId: string
  readonly targets: readonly VoiceTarget[]
  readonly ringSeconds: number
  /** The recording to make of the whole call, with its path; null for none. */
  readonly record: { readonly id: string; readonly path: string } | null
  /**
   * Maximum duration after the answer, in seconds; null for no limit. A program that does not answer has the same time
   * from its beginning.
   */
  readonly mostSeconds: number | null
  /** Headers of the INVITE, each beginning with X-, of a call that `run` places. */
  readonly headers?: Readonly<Record<string, string>>
  /** Calls that dialled one another up to this one, told to trunks so that a forwarding loop ends. Default: none. */
  readonly hops?: number
  /** Runs the call in place of a bridge. A call from a trunk or a browser then searches for no target. */
  readonly program?: VoiceProgram
  /** Runs on the leg of the target that answers a call which a program dials, before the two are connected. */
  readonly screening?: VoiceScreening
}

/** Asks a callee before it is connected. Resolves with whether it may be; if not, its call ends. */
export type VoiceScreening = { run(line: VoiceLine): Promise<boolean> }

/** A program that decides what happens in a call. Resolves when it is over; the gateway then hangs up. */
export type VoiceProgram = { run(line: VoiceLine): Promise<void> }

/** The party whose call a program runs. Promises resolve when the thing has happened, or the party is gone. */
export type VoiceLine = {
  /** Uuid of our call record. */
  readonly call: string
  readonly isAnswered: boolean
  /** Aborts when the party is gone, or the call was ended. */
  readonly gone: AbortSignal
  /** Rings (180), of an inbound call that is not answered. The ringing is persisted first. */
  ring(): Promise<void>
  /** Opens early media (183). Returns false if the call is over, or its INVITE had no offer. */
  early(): Promise<boolean>
  /** Answers; the answer is persisted first. Returns false if the call is over, true if it is answered already. */
  answer(): Promise<boolean>
  /** Refuses an inbound call that is not answered. */
  refuse(status: number, reason: string): void
  hangUp(end: Pick<VoiceEnd, 'how' | 'status' | 'reason'>): void
  /** Media of the party: null before early media or the answer. */
  readonly leg: MediaLeg | null
  readonly media: MediaCall | null
  /** Gives each key of the party to a listener, in its audio or as INFO, once a press. Returns a function that ends it. */
  keys(listener: (key: string) => void): () => void
  /** Gives the event `speech` of the party's leg to a listener. Returns a function that ends it. */
  speech(listener: (change: 'began' | 'ended') => void): () => void
  /**
   * Dials the targets of a plan and connects the first that answers, until either side hangs up. The program goes on
   * afterwards. Keys of the party are for the dialled side meanwhile. A second `dial` at a time fails with 491. @param plan of a call of its own, that call control has begun
   */
  dial(plan: VoicePlan, options: VoiceDialOptions): Promise<VoiceDialled>
  /** Adds a line to the timeline of the call. */
  note(text: string): void
}

export type VoiceDialOptions = {
  /** The party is answered when the dialled side answers; it hears ringing until then. */
  readonly answersOnBridge: boolean
  /** The party ends the dialled call with `*`, and its own call goes on. */
  readonly endsOnStar: boolean
  /** Ends the dialled call. */
  readonly signal: AbortSignal
}

/**
 * How a dialled call ended. `seconds`: from the connection on. A callee that answers and is not connected, as screening
 * refuses it or it hangs up meanwhile, is `no_answer`, and `canceled` if the caller gave up.
 */
export type VoiceDialled = Pick<VoiceEnd, 'how' | 'status'> & {
  /** The sides were connected. */
  readonly isAnswered: boolean
  readonly seconds: number
}

/** Keys that the callee of a platform call must type, after a tone that repeats until the first key. */
export type VoiceCodeEntry = {
  /** Number of keys, 0 to 9 each; `*` and `#` restart the entry. */
  readonly length: number
  /** Maximum duration after the answer, in seconds. */
  readonly seconds: number
  /** `again`: the callee may retry. Otherwise the call ends with the reason in `done`. */
  check(typed: string): Promise<'again' | { readonly done: string }>
}

export type VoiceLeg = 'caller' | 'callee'

/** A persisted SIP dialog, for a BYE after a crash: plain JSON of the SIP layers. */
export type VoiceDialog = { readonly leg: VoiceLeg; readonly trunk: string | null; readonly frozen: object }

/** A recording that began. `left`: it was not closed properly, so a file may exist. */
export type VoiceRecording = { readonly id: string; readonly content: MediaRecording | 'left' }

/** Why a call ended. */
export type VoiceEnd = {
  readonly how:
    | 'completed'
    | 'canceled'
    | 'busy'
    | 'no_answer'
    | 'rejected'
    | 'failed'
    /** No media; balance or allowed time exhausted; user or account suspended; ended by an operator. */
    | 'media_timeout'
    | 'balance'
    | 'suspended'
    | 'operator'
    | 'interrupted'
    /** After `mostSeconds` of the plan. */
    | 'time_limit'
    /** A side answered without a session description: there was no talk, and nothing is charged. */
    | 'no_sdp'
    /** The callee of a platform call did not type in time. */
    | 'entry_timeout'
    /** The program of the call failed. */
    | 'program_error'
  /** SIP status; 0 for none. */
  readonly status: number
  readonly reason: string
  /** The side that ended the call; null if the platform did. */
  readonly by: VoiceLeg | null
  /** Milliseconds since the end. Closing the recording takes time, and the report is retried until it is persisted. */
  readonly agoMs: number
  readonly stats: readonly MediaLegStats[]
  /** All that began in the call. */
  readonly recordings: readonly VoiceRecording[]
}

/** An entry of a call's timeline, which explains failures and silence. `at` in Unix milliseconds. */
export type VoiceTimelineEntry = {
  readonly at: number
  readonly leg: VoiceLeg | null
  /** First line of a SIP message, ICE pair, codec, or reason. */
  readonly what: 'sip_in' | 'sip_out' | 'media' | 'note'
  readonly text: string
}

/** Decides on calls and stores their CDRs. Every promise resolves once its result is durable. */
export type VoiceCallControl = {
  /** Password of a digest username; null if it does not exist. */
  password(username: string): string | null | Promise<string | null>
  admit(arrival: VoiceRegisterRequest): Promise<VoiceDecision<VoiceRegistration>>
  left(person: VoiceUser, reason: 'replaced' | 'expired' | 'suspended' | 'requested'): void
  /** Stores a CDR of the attempt, whether it is refused or not. */
  placeCall(call: VoiceOutboundCall): Promise<VoiceDecision<VoicePlan>>
  receiveCall(call: VoiceInboundCall): Promise<VoiceDecision<VoicePlan>>
  /** The called side of a call to an own target. Its plan has a program. */
  receiveOwnCall(call: VoiceOwnCall): Promise<VoiceDecision<VoicePlan>>
  /** @param target that rings; null: the platform itself lets the caller hear ringing */
  ringing(call: string, target: VoiceTarget | null): Promise<void>
  /**
   * Called before the answer is relayed; charging starts. A refusal ends the call at once.
   * @param by null: the platform itself
   */
  answered(call: string, by: VoiceTarget | null, dialogs: readonly VoiceDialog[]): Promise<VoiceDecision<null>>
  /** Called every 5 s of an answered call. A refusal ends the call with its reason, such as an exhausted balance. */
  heartbeat(call: string, stats: readonly MediaLegStats[]): Promise<VoiceDecision<null>>
  /** May be called again. */
  ended(call: string, end: VoiceEnd): Promise<void>
  addTimelineEntries(call: string, lines: readonly VoiceTimelineEntry[]): void
}

/** Settings of a SIP trunk. Addresses are IPv4 or IPv6, or networks in CIDR notation. */
export type VoiceTrunk = {
  readonly id: string
  readonly name: string
  readonly host: string
  readonly port: number | null
  readonly transport: 'udp' | 'tcp' | 'tls'
  /** For TLS: PEM of the only trusted authority, and the expected certificate name if it is not `host`. */
  readonly authority: string | null
  readonly serverName: string | null
  readonly username: string | null
  readonly password: string | null
  /** Whether we register with the trunk, so that it can reach us. */
  readonly register: boolean
  /** Addresses that may call us. Default: the trunk's own address. */
  readonly addresses: readonly string[]
  /** Host of our From and P-Asserted-Identity. Default: our host. */
  readonly domain: string | null
  /** Number format of the trunk. */
  readonly numbers: 'e164' | 'plus' | 'national'
  /** For `national`: numbers of this calling code are written with 0, others with 00. Null: all as `e164`. */
  readonly callingCode?: string | null
  readonly codecs: readonly ('pcmu' | 'pcma')[]
  /** SRTP with keys in session descriptions (RFC 4568). */
  readonly srtp: MediaSrtp
  readonly pingSeconds: number
  /** Maximum of concurrent calls; null for no limit. */
  readonly channels: number | null
}

export type VoiceTrunkState = LinkState & {
  readonly registered: boolean | null
  readonly calls: number
  /** Round trip of the last OPTIONS in ms, and when it was answered. */
  readonly pingMs: number | null
  readonly pingedAt: number | null
}

/** A change of a trunk for the log. `registered` and `unregistered` are of trunks with registration. */
export type VoiceTrunkChange = {
  readonly name: string
  readonly what: 'up' | 'down' | 'registered' | 'unregistered'
  /** Why it went down or lost its registration; null for the others. */
  readonly reason: string | null
}

/** A result of the trunk diagnostics, with the change to make if it failed. */
export type VoiceFinding = {
  readonly what: 'dns' | 'reach' | 'options' | 'registration' | 'nat' | 'tls' | 'codecs' | 'media'
  readonly well: boolean
  /** Failed, but calls work nevertheless. */
  readonly isWarning?: boolean
  readonly found: string
  readonly mend: string | null
}

export type VoiceGateway = {
  /** Accepts a connection that upgrades to SIP over WebSocket (RFC 7118). @param address of the client */
  acceptWebSocket(request: IncomingMessage, socket: Duplex, head: Buffer, address: string): Promise<void>
  /** Replaces the certificate of SIP over TLS for later connections. No effect without TLS. @throws Error if it is
   *  invalid */
  setCertificate(tls: { readonly key: string; readonly cert: string }): void
  /** Reconciles the running trunks with this list. Unchanged trunks keep running. */
  apply(trunks: readonly VoiceTrunk[]): Promise<void>
  trunk(id: string): VoiceTrunkState | null
  isRegistered(person: VoiceUser): boolean
  /** Ends registrations, and with `calls` also the calls. `expired`: the credentials were revoked. */
  dropRegistrations(people: readonly VoiceUser[], reason: 'suspended' | 'expired', calls: boolean): Promise<void>
  /** Ends all calls of accounts that were blocked. */
  endCallsOf(accounts: readonly string[]): Promise<void>
  /** @param how `operator` by default. `canceled` and `completed` become what fits: a call that rings is canceled */
  hangUp(call: string, reason: string, how?: 'operator' | 'canceled' | 'completed'): Promise<void>
  /** Places a platform call that call control has started. */
  dial(plan: VoicePlan, entry: VoiceCodeEntry): Promise<void>
  /** Places a call that call control has started; once it is answered, the program of its plan runs. */
  run(plan: VoicePlan & { readonly program: VoiceProgram }): Promise<void>
  /** Sends BYE for dialogs that a crash left open. @returns the number of peers that answered */
  releaseDialogs(dialogs: readonly VoiceDialog[]): Promise<number>
  /** Diagnoses a trunk. @param echo E.164 number behind the trunk that answers and echoes audio */
  diagnose(trunk: string, echo: string | null): AsyncIterable<VoiceFinding>
  /** UDP port of SIP. */
  readonly port: number
  calls(): number
  /** Stops new calls, waits up to `graceMs` for current calls, then ends them.
   *  @param isSuperseded another process has taken over. Registrations at trunks stay, as they may be its own. */
  close(graceMs: number, isSuperseded?: boolean): Promise<void>
}
