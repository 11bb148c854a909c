import type { ReplyOf } from '../api/client.ts'
import type { IconName } from '../icons/names.ts'
import { Icon } from '../parts/icon.tsx'
import { Status, type Tone } from '../parts/status.tsx'
import { words } from '../words/en/logs.ts'

export type Message = ReplyOf<'GET /open/sms/message/:message_uuid'>['message']
export type Call = ReplyOf<'GET /open/voip/call/:call_uuid'>['cdr']

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

const callTones: Readonly<Record<Call['status'], Tone>> = {
  RINGING: 'info',
  ANSWERED: 'info',
  COMPLETED: 'good',
  MISSED: 'notice',
  FAILED: 'bad',
  BUSY: 'notice',
  NO_ANSWER: 'notice',
  CANCELED: 'neutral',
}

export const CallStatus = ({ status }: { status: Call['status'] }) => (
  <Status tone={callTones[status]}>{words.callStatuses[status]}</Status>
)

/** The other side of a message, and our number. */
export const sidesOf = ({ direction, source, destination }: Message) =>
  direction === 'inbound' ? { contact: source, own: destination } : { contact: destination, own: source }

/** The other side of a call, and our number. */
export const partiesOf = ({ direction, from, to_number: to, caller_id_used: shown }: Call) =>
  direction === 'I' ? { other: from, own: to } : { other: to, own: shown }

/** An arrow with its meaning in words. */
export const Direction = ({ icon, name }: { icon: IconName; name: string }) => (
  <span class="soft">
    <Icon name={icon} label={name} />
  </span>
)
