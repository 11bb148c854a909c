import type { VoiceEnd } from '../connectors/voice-port.ts'
import type { CallEnd } from './ops.ts'

/** A call that this process runs. */
export type Running = {
  readonly account: string
  readonly direction: 'I' | 'O'
  readonly isRecorded: boolean
  isAnswered: boolean
  /** When its life was written down last, by `performance.now()`. */
  writtenAt: number
  /** Why we cut it, where that is more than the gateway knows. */
  cut?: string
  /** Cuts it when what was set aside is talked out. */
  timer?: NodeJS.Timeout
}

/** How long a call goes on that cannot be written down, ms: shorter than it takes until others close it. */
export const longestUnwritten = 60_000

/** What the two sides are told of a call that is cut. */
export const spent = { balance: 'The balance has come to its end', spend_limit: 'No more may be spent today' }

const words: Partial<Record<VoiceEnd['how'], string>> = {
  media_timeout: 'media_timeout',
  balance: 'balance',
  suspended: 'suspended',
  operator: 'operator',
  interrupted: 'interrupted',
}

const statuses: Partial<Record<VoiceEnd['how'], CallEnd['status']>> = {
  canceled: 'CANCELED',
  busy: 'BUSY',
  no_answer: 'NO_ANSWER',
}

/** Of what rings in vain at ours, whoever gave up, `MISSED` is what its user wants to see. */
export const endOf = ({ how, status, agoMs }: VoiceEnd, { direction, isAnswered, cut }: Running): CallEnd => {
  const reason = cut ?? words[how] ?? String(status)
  if (isAnswered) return { status: 'COMPLETED', reason, agoMs }
  if (direction === 'I' && (how === 'canceled' || how === 'no_answer' || how === 'rejected'))
    return { status: 'MISSED', reason, agoMs }
  return { status: statuses[how] ?? 'FAILED', reason, agoMs }
}
