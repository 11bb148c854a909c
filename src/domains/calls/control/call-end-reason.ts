import type { VoiceEnd } from '../../../ports/voice.ts'
import { qualityOf } from '../call-quality.ts'
import type { CallEnd } from '../ops.ts'

/** A call that this process runs. */
export type RunningCall = {
  readonly account: string
  readonly direction: 'I' | 'O'
  /** The recording that its plan asks for. */
  readonly recording: string | null
  /** Its ringing is stored: a call of the API, or one whose statuses are reported. */
  readonly storesRinging?: true
  /** The call whose program dialled it, with the number that it shows, and how many calls led to it. */
  readonly dialled?: { readonly by: string; readonly callerId: string; readonly depth: number }
  /** The record of the other side of a call to a number of the same account that runs a program. */
  otherSide?: string
  isAnswered: boolean
  /** Time of the last persisted heartbeat, by `performance.now()`. */
  persistedAt: number
  /** Our reason to end the call, where the gateway does not know it. */
  cutReason?: string
  /** Ends the call when its held minutes run out. */
  timer?: NodeJS.Timeout
}

/** Reasons sent to both sides of a call that is ended for lack of money. */
export const cutReasons = {
  balance: 'The balance is exhausted',
  spend_limit: 'The daily spend limit is reached',
  key_spend_limit: 'The daily spend limit of the API key is reached',
}

const endReasons: Partial<Record<VoiceEnd['how'], string>> = {
  media_timeout: 'media_timeout',
  balance: 'balance',
  suspended: 'suspended',
  operator: 'operator',
  entry_timeout: 'code_timeout',
  interrupted: 'interrupted',
  time_limit: 'time_limit',
  no_sdp: 'no_sdp',
  program_error: 'program_error',
}

const statuses: Partial<Record<VoiceEnd['how'], CallEnd['status']>> = {
  canceled: 'CANCELED',
  busy: 'BUSY',
  no_answer: 'NO_ANSWER',
}

/** Maps the end to status and reason. Unanswered inbound calls are `MISSED`, whichever side gave up. */
export const callEndOf = (
  { how, status, agoMs, stats }: VoiceEnd,
  { direction, isAnswered, cutReason }: RunningCall,
): CallEnd => {
  const reason = cutReason ?? endReasons[how] ?? String(status)
  // The answer was none: its other half, the ACK of the caller, had no session description.
  if (how === 'no_sdp') return { status: 'FAILED', reason, agoMs, isFree: true }
  // A caller that cancels has not got the answer, which was stored a moment before: the carrier charges nothing either.
  const isFree = direction === 'I' && how === 'canceled'
  if (isAnswered) return { status: 'COMPLETED', reason, agoMs, isFree, quality: qualityOf(stats) }
  if (direction === 'I' && ['canceled', 'no_answer', 'rejected', 'time_limit'].includes(how))
    return { status: 'MISSED', reason, agoMs }
  return { status: statuses[how] ?? 'FAILED', reason, agoMs }
}
