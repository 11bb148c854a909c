import type { IconName } from '../icons/names.ts'
import { words as texts } from '../words/en/conversation.ts'
import { shortTime } from '../words/format.ts'
import type { Item } from './inbox-types.ts'

// How far an outbound message is, in words. Pure but for the words.

export type ItemState = {
  readonly text: string
  readonly icon: IconName
  readonly isFailed: boolean
  /** Why it failed. */
  readonly reason?: string | undefined
}

const failed = (reason: string): ItemState => ({
  text: texts.states.failed,
  icon: 'circle-alert',
  isFailed: true,
  reason,
})

const reasons: Readonly<Record<string, string | undefined>> = texts.failed.reasons

/** The reason of a failed message in words, with the code of the carrier. */
const reasonOf = (status: string, code: string | undefined): string =>
  [reasons[code ?? ''] ?? reasons[status] ?? texts.failed.reasons.failed, code ? texts.failed.code(code) : '']
    .filter(Boolean)
    .join(' ')

const state = (text: string, icon: IconName): ItemState => ({ text, icon, isFailed: false })

type Sms = NonNullable<Item['sms']>

const smsState = ({ status, error_code: code, send_at: at }: Sms, now: () => number): ItemState | null => {
  switch (status) {
    case 'received':
      return null
    case 'scheduled':
      return state(texts.states.scheduled(shortTime(at ?? new Date(), now())), 'clock')
    case 'queued':
    case 'sending':
      return state(texts.states.queued, 'clock')
    case 'sent':
      return state(texts.states.sent, 'check')
    case 'delivered':
      return state(texts.states.delivered, 'check-check')
    case 'canceled':
      return state(texts.states.canceled, 'ban')
    case 'unknown':
      return state(texts.states.unknown, 'circle-question-mark')
    default:
      return failed(reasonOf(status, code))
  }
}

const appState = ({ failure, wa_msg_ack: ack, read, received }: NonNullable<Item['message']>): ItemState => {
  if (failure) return failed(failure.reason || reasonOf('failed', failure.code))
  if (read || ack >= 3) return state(texts.states.read, 'check-check')
  if (received || ack === 2) return state(texts.states.delivered, 'check-check')
  return ack === 1 ? state(texts.states.sent, 'check') : state(texts.states.queued, 'clock')
}

/** The state of a message of ours; null for others. */
export const stateOf = ({ direction, sms, message }: Item, now: () => number): ItemState | null => {
  if (direction !== 'outbound') return null
  return sms ? smsState(sms, now) : message ? appState(message) : null
}

/** The text of a message. */
export const textOf = ({ sms, message, note }: Item): string => sms?.text ?? message?.message.text ?? note?.text ?? ''
