import { iso } from '../../../platform/lib/clock.ts'
import { print } from '../../../platform/lib/id.ts'
import { decimal, micros } from '../../../platform/lib/money.ts'
import {
  attemptFacts,
  nothingToDo,
  type Publication,
  type TimelineFact,
  type Verdict,
  webhookStep,
} from '../../timelines/ops.ts'
import type { AttemptRow, PartRow } from '../message-trace-store.ts'
import { failureReasonOf, reasonText } from './failure-reasons.ts'
import type { TimelineRow } from './store.ts'

/** Rows about one message. */
export type SmsTrace = Publication & {
  readonly row: TimelineRow
  readonly parts: readonly PartRow[]
  readonly attempts: readonly AttemptRow[]
  readonly refunds: readonly { id: string; amount: string; created_at: Date }[]
  /** True if the reader may see amounts. */
  readonly showsMoney: boolean
}

/** Statuses of parts without a receipt. */
const withoutReceipt = new Set(['sending', 'doubtful', 'sent'])

/** Statuses of messages that ended. */
const ended = new Set(['failed', 'expired', 'rejected', 'undelivered', 'unknown'])

const amountOf = (numeric: string): string => decimal(micros(numeric) ?? 0)

const partName = ({ row, parts }: SmsTrace, part: number): string =>
  row.fragments > 1 && parts.length !== 1 ? `part ${part}` : 'the message'

const acceptedFacts = ({ row, showsMoney }: SmsTrace): TimelineFact[] => [
  {
    at: row.created_at,
    what: 'accepted',
    text: 'The message was accepted',
    detail: {
      segments: row.fragments,
      encoding: row.encoding,
      ...(row.sending_id === null ? {} : { sending_uuid: print('SND', row.sending_id) }),
    },
  },
  ...(row.transfer_id === null
    ? []
    : [
        {
          at: row.created_at,
          what: 'charged' as const,
          text: showsMoney ? `${amountOf(row.price)} USD was charged` : 'The price was charged',
          detail: {
            transfer_uuid: print('TRF', row.transfer_id),
            ...(showsMoney ? { amount: amountOf(row.price) } : {}),
          },
        },
      ]),
  ...(row.send_at === null
    ? []
    : [{ at: row.created_at, what: 'scheduled' as const, text: `To be sent at ${iso(row.send_at)}` }]),
  ...(row.candidates === null
    ? []
    : [
        {
          at: row.created_at,
          what: 'routed' as const,
          text:
            row.candidates.length === 1
              ? '1 carrier serves this destination'
              : `${row.candidates.length} carriers serve this destination`,
          detail: { candidates: row.candidates.length },
        },
      ]),
]

const receiptTexts = new Map([
  ['delivered', 'delivered'],
  ['undelivered', 'not delivered'],
  ['rejected', 'rejected'],
  ['expired', 'expired'],
  ['enroute', 'on its way'],
  ['accepted', 'accepted by the network of the recipient'],
  ['unknown', 'unknown to the carrier'],
])

const attemptFact = (trace: SmsTrace, { part, outcome, reason, at }: AttemptRow): TimelineFact => {
  const name = partName(trace, part)
  const why = reasonText(reason)
  const detail = { part, error_code: why === null ? null : reason }
  if (outcome === 'refused')
    return { at, what: 'refused', text: `A carrier refused ${name}: ${why ?? 'it reported an error'}`, detail }
  if (outcome === 'retry')
    return {
      at,
      what: 'retried',
      text: `A carrier could not accept ${name} yet: ${why ?? 'it has no capacity'}`,
      detail,
    }
  if (outcome === 'queried')
    return {
      at,
      what: 'receipt',
      text: `The receipt for ${name} is missing. Asked for it, the carrier answered: ${receiptTexts.get(reason) ?? why ?? 'it reported an error'}`,
      detail: receiptTexts.has(reason) ? { part, status: reason } : detail,
    }
  return { at, what: 'submitted', text: `A carrier did not answer about ${name}`, detail }
}

const partFacts = (trace: SmsTrace, row: PartRow): TimelineFact[] => {
  const name = partName(trace, row.part)
  const isOpen = row.status === 'sending' || row.status === 'doubtful'
  return [
    {
      at: row.sent_at,
      what: 'submitted',
      text: isOpen ? `A carrier was sent ${name} and has not answered` : `A carrier accepted ${name}`,
      detail: { part: row.part, carrier_message_id: row.carrier_id },
    },
    ...(withoutReceipt.has(row.status)
      ? []
      : [
          {
            at: row.updated_at,
            what: 'receipt' as const,
            text: `Receipt for ${name}: ${receiptTexts.get(row.status) ?? row.status}`,
            detail: { part: row.part, status: row.status, error_code: row.error_code },
          },
        ]),
  ]
}

const endFacts = (trace: SmsTrace): TimelineFact[] => {
  const { row, parts, refunds, showsMoney } = trace
  const hasReceipt = parts.some(({ status }) => !withoutReceipt.has(status))
  return [
    ...(row.status === 'canceled'
      ? [{ at: row.updated_at, what: 'canceled' as const, text: 'The message was canceled before its send time' }]
      : []),
    ...(ended.has(row.status) && !hasReceipt
      ? [
          {
            at: row.updated_at,
            what: 'failed' as const,
            text: failureReasonOf(row.status, row.error_code).text,
            detail: { status: row.status, error_code: row.error_code },
          },
        ]
      : []),
    ...(row.status === 'sent' && row.sub_status === 'no_receipt'
      ? [
          {
            at: row.updated_at,
            what: 'receipt' as const,
            text: 'No receipt came within an hour after the validity',
            detail: { status: 'no_receipt' },
          },
        ]
      : []),
    ...refunds.map((refund) => ({
      at: refund.created_at,
      what: 'refunded' as const,
      text: showsMoney ? `${amountOf(refund.amount)} USD was paid back` : 'The price was paid back',
      detail: {
        transfer_uuid: print('TRF', refund.id),
        ...(showsMoney ? { amount: amountOf(refund.amount) } : {}),
      },
    })),
  ]
}

const receivedTexts: ReadonlyMap<string | null, string> = new Map([
  ['incomplete', 'The message was received without some of its parts'],
  ['blocked', 'The message was received from a blocked contact'],
])

/** Returns the stored facts about a message. */
export const smsFacts = (trace: SmsTrace): TimelineFact[] => {
  const { row, parts, attempts, deliveries } = trace
  const webhookFacts = attemptFacts(deliveries)
  if (row.direction === 'inbound')
    return [
      {
        at: row.created_at,
        what: 'received',
        text: receivedTexts.get(row.sub_status) ?? 'The message was received',
        detail: { encoding: row.encoding },
      },
      ...webhookFacts,
    ]
  return [
    ...acceptedFacts(trace),
    ...attempts.map((attempt) => attemptFact(trace, attempt)),
    ...parts.flatMap((part) => partFacts(trace, part)),
    ...endFacts(trace),
    ...webhookFacts,
  ]
}

const wait = (text: string): Verdict['step'] => ({ kind: 'wait', text })

const outboundVerdict = ({ row, refunds }: SmsTrace): Verdict => {
  switch (row.status) {
    case 'delivered':
      return { state: 'succeeded', text: 'The recipient has the message.', step: nothingToDo }
    case 'canceled':
      return { state: 'succeeded', text: 'The message was canceled and paid back.', step: nothingToDo }
    case 'scheduled':
      return {
        state: 'in_progress',
        text: 'The message waits for its send time.',
        step: wait('Wait, or cancel it with DELETE /open/sms/message/{uuid}.'),
      }
    case 'sent':
      return row.sub_status === 'no_receipt'
        ? {
            state: 'in_progress',
            text: 'A carrier accepted the message and sent no receipt. It may have arrived.',
            step: { kind: 'ask_operator', text: 'Ask the operator whether this carrier sends receipts.' },
          }
        : {
            state: 'in_progress',
            text: 'A carrier accepted the message. Its receipt is missing so far.',
            step: wait('Wait for the receipt.'),
          }
    case 'queued':
    case 'sending':
      return {
        state: 'in_progress',
        text: 'The message waits for a carrier.',
        step: wait('Wait: it is sent as soon as a carrier accepts it.'),
      }
    default: {
      const { text, step } = failureReasonOf(row.status, row.error_code)
      const refunded = refunds.length > 0 ? ' The price was paid back.' : ''
      return { state: 'failed', code: row.error_code, text: `${text}.${refunded}`, step }
    }
  }
}

const inboundVerdict = ({ row }: SmsTrace): Verdict => {
  switch (row.sub_status) {
    case 'incomplete':
      return {
        state: 'succeeded',
        text: 'The message was received. Some of its parts never arrived.',
        step: { kind: 'wait', text: 'Ask the sender to send the message again.' },
      }
    case 'blocked':
      return {
        state: 'succeeded',
        code: 'blocked',
        text: 'The sender is a blocked contact. The message is in the log alone.',
        step: { kind: 'unblock', text: 'Unblock the contact to get its next messages.' },
      }
    default:
      return { state: 'succeeded', text: 'The message was received.', step: nothingToDo }
  }
}

/** Returns how a message ended, and what helps next. */
export const smsVerdict = (trace: SmsTrace): Verdict => {
  const { row, deliveries } = trace
  const verdict = row.direction === 'outbound' ? outboundVerdict(trace) : inboundVerdict(trace)
  return verdict.step.kind === 'none' ? { ...verdict, step: webhookStep(deliveries) ?? verdict.step } : verdict
}
