import type { Job } from '../../platform/jobs/job-kind.ts'
import type { MessagePlan, Segmentation } from './accept/quote.ts'
import type { Submission } from './submit/submit-handler.ts'

// A batch: messages that one statement accepted for one account, due at once. They share one job of the kind
// `sms.batch`, which saves a row for each message. Decision 0034 has its states.

/** A message of a batch. */
export type BatchMember = {
  readonly id: string
  readonly payload: Submission
  /** Absent once the message was read from the database. */
  readonly plan?: MessagePlan
}

/** Payload of a batch's job. */
export type BatchPayload = {
  /** Ids of the messages in the order of acceptance: 16 bytes each, together in base64url. */
  ids: string
  /** Segmentation of each message. Absent if it is `udh8` for all. */
  long?: Segmentation[]
  /** The sending of the messages, if one request sent them. */
  sending?: string
}

/** A batch as passed from the acceptor to the handler of this process, with the texts that its job does not hold. */
export type LocalBatchPayload = BatchPayload & { members?: readonly BatchMember[] }

export type BatchJob = Job<LocalBatchPayload>

export const batchPayload = (
  messages: readonly { readonly id: string; readonly long: Segmentation }[],
): BatchPayload => {
  const hex = messages
    .map(({ id }) => id)
    .join('')
    .replaceAll('-', '')
  const ids = Buffer.from(hex, 'hex').toString('base64url')
  return messages.every(({ long }) => long === 'udh8') ? { ids } : { ids, long: messages.map(({ long }) => long) }
}

/** Returns the ids of a batch with the segmentation of each. */
export const readBatchPayload = ({ ids, long }: BatchPayload): Map<string, Segmentation> => {
  const hex = Buffer.from(ids, 'base64url').toString('hex')
  const found = new Map<string, Segmentation>()
  for (let i = 0; i * 32 < hex.length; i++) {
    const id = hex.slice(i * 32, i * 32 + 32).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
    found.set(id, long?.[i] ?? 'udh8')
  }
  return found
}

/** Payload of a message's own job. */
export const submissionOf = (from: string, to: string, text: string, long: Segmentation): Submission =>
  long === 'udh8' ? { from, to, text } : { from, to, text, long, send_at: null }
