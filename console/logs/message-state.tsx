import type { ReplyOf } from '../api/client.ts'
import { Status, type Tone } from '../parts/status.tsx'
import { words } from '../words/en/logs.ts'

export type Message = ReplyOf<'GET /open/sms/message/:message_uuid'>['message']

const messageTones: Readonly<Record<Message['status'], Tone>> = {
  received: 'good',
  scheduled: 'info',
  queued: 'info',
  sending: 'info',
  sent: 'info',
  delivered: 'good',
  undelivered: 'bad',
  rejected: 'bad',
  expired: 'bad',
  failed: 'bad',
  canceled: 'neutral',
  unknown: 'notice',
}

export const MessageStatus = ({ status }: { status: Message['status'] }) => (
  <Status tone={messageTones[status]}>{words.statuses[status]}</Status>
)

/** The other side of a message, and our number. */
export const sidesOf = ({ direction, source, destination }: Message) =>
  direction === 'inbound' ? { contact: source, own: destination } : { contact: destination, own: source }
