// The telephone as every tab sees it. The tab that runs it sends this state to the others.

/** `elsewhere`: the person uses the telephone in another browser. */
export type LineState = 'off' | 'connecting' | 'ready' | 'reconnecting' | 'elsewhere' | 'failed'

/** Quality of the last seconds. The cause is named when it is bad. */
export type CallQuality = {
  readonly bars: 1 | 2 | 3 | 4
  readonly mos: number
  readonly cause: 'none' | 'loss' | 'jitter' | 'delay' | 'silence'
}

/** Facts about the other side of a call. */
export type CallFacts = {
  /** `CDR…` */
  readonly uuid?: string
  /** Our number. */
  readonly own?: string
  readonly name?: string
  /** `CNV…` */
  readonly conversation?: string
  readonly lastText?: { readonly text: string; readonly isOurs: boolean }
}

export type PhoneCall = CallFacts & {
  readonly id: string
  readonly direction: 'inbound' | 'outbound'
  /** E.164; `USR…` for a colleague. */
  readonly number: string
  /** `dialling`: on its way. `ringing`: at either side. */
  readonly state: 'dialling' | 'ringing' | 'active'
  /** Milliseconds since 1970. */
  readonly startedAt: number
  readonly answeredAt?: number
  readonly isMuted: boolean
  readonly isHeld: boolean
  /** The other side holds the call. */
  readonly isHeldThere: boolean
  readonly quality?: CallQuality
  /** Keys that were sent. */
  readonly keys: string
}

export type CallOutcome =
  | 'hangup'
  | 'missed'
  | 'canceled'
  | 'rejected'
  | 'declined'
  | 'busy'
  | 'no_answer'
  | 'lost'
  | 'failed'

export type EndedCall = CallFacts &
  Pick<PhoneCall, 'id' | 'direction' | 'number'> & {
    readonly outcome: CallOutcome
    /** The reason of the server. */
    readonly detail: string
    /** Seconds talked; undefined if the call was not answered. */
    readonly seconds?: number
  }

export type PhoneState = {
  /** `ACC…` of the calls: during a call the page may come to show another account. Empty without a telephone. */
  readonly account: string
  readonly line: LineState
  /** Why the line failed, or the last act did. */
  readonly problem: string
  readonly isAway: boolean
  readonly calls: readonly PhoneCall[]
  readonly ended: EndedCall | null
}

export const noPhone: PhoneState = {
  ...{ account: '', line: 'off', problem: '' },
  ...{ isAway: false, calls: [], ended: null },
}
