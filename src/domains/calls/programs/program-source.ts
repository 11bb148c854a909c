import type { CallbackEvent, ProgramReference } from '../../applications/ops.ts'

/** The program of a call, as the API took it. It is stored with the call. */
export type ProgramSource =
  | ProgramReference
  /** A document that was given with the request. `base_url`: of relative addresses in it. */
  | {
      readonly kind: 'verbs'
      readonly verbs: readonly object[]
      readonly base_url: string | null
      readonly shape: 'native' | 'twilio'
    }

/** The receiver of the statuses of a call. `application`: whose secret signs native ones; null: that of the account. */
export type CallCallbacks = {
  readonly url: string
  readonly method: 'GET' | 'POST'
  readonly events: readonly CallbackEvent[]
  readonly shape: 'native' | 'twilio'
  readonly application: string | null
}

/** How a call is placed. */
export type CallPlacing = {
  readonly ring_seconds: number
  readonly most_seconds: number
  /** Keys to send after the answer; `w` waits half a second. */
  readonly send_digits: string | null
  /** Record both sides from the answer on. */
  readonly record: boolean
  /** Headers of the INVITE, each beginning with X-. */
  readonly headers: Readonly<Record<string, string>>
}

/** A call that the API makes. */
export type CallOrder = {
  readonly program: ProgramSource
  readonly callbacks: CallCallbacks | null
  readonly placing: CallPlacing
  /** Data of the account that every request of the program has. */
  readonly tags: Readonly<Record<string, unknown>>
}
