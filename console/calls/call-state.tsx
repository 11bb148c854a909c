import type { ReplyOf } from '../api/client.ts'
import { Status, type Tone } from '../parts/status.tsx'
import { words } from '../words/en/calls.ts'

export type Call = ReplyOf<'GET /open/voip/call/:call_uuid'>['cdr']

const callTones: Readonly<Record<Call['status'], Tone>> = {
  QUEUED: 'info',
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
  <Status tone={callTones[status]}>{words.statuses[status]}</Status>
)

/** The other side of a call, and our number. */
export const partiesOf = ({ direction, from, to_number: to, caller_id_used: shown }: Call) =>
  direction === 'I' ? { other: from, own: to } : { other: to, own: shown }
