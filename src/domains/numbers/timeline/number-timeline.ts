import { iso } from '../../../platform/lib/clock.ts'
import { print } from '../../../platform/lib/id.ts'
import { decimal, micros } from '../../../platform/lib/money.ts'
import type { Fact } from '../../timelines/contract.ts'
import { attemptFacts, nothingToDo, type Publication, type TimelineFact, type Verdict } from '../../timelines/ops.ts'
import { sameActMs } from '../limits.ts'
import type { ActRow, TimelineRow, TransferRow } from './store.ts'

/** Rows about one number. */
export type NumberTrace = Publication & {
  readonly row: TimelineRow
  readonly transfers: readonly TransferRow[]
  readonly acts: readonly ActRow[]
  /** True if the reader may see amounts. */
  readonly showsMoney: boolean
}

const day = (at: Date): string => iso(at).slice(0, 10)

const registrationFacts = (row: TimelineRow): TimelineFact[] => {
  const { registration: state, registration_at: opened, registration_changed_at: changed } = row
  if (state === null || opened === null || changed === null) return []
  const due = row.registration_due_at
  return [
    {
      at: opened,
      what: 'registration',
      text: `The regulator requires documents${due ? ` until ${day(due)}` : ''}`,
    },
    ...(state === 'awaiting'
      ? []
      : [
          {
            at: changed,
            what: 'registration' as const,
            text:
              state === 'approved'
                ? 'The documents were approved'
                : `The documents were refused: ${row.registration_reason}`,
          },
        ]),
  ]
}

const chargeFact = ({ id, kind, amount, created_at: at }: TransferRow, showsMoney: boolean): TimelineFact => {
  const text = decimal(micros(amount) ?? 0)
  const what: Fact = kind === 'number_month' ? 'renewed' : 'charged'
  const name = kind === 'number_month' ? 'The next month' : 'The purchase'
  return {
    at,
    what,
    text: showsMoney ? `${name} was charged: ${text} USD` : `${name} was charged`,
    detail: { transfer_uuid: print('TRF', id), ...(showsMoney ? { amount: text } : {}) },
  }
}

const actTexts = new Map<string, { readonly what: Fact; readonly text: string }>([
  ['changeVirtualNumber', { what: 'note', text: 'The settings were changed' }],
  ['suspendNumber', { what: 'suspended', text: 'The operator suspended the number' }],
  ['reinstateNumber', { what: 'note', text: 'The operator ended the suspension' }],
])

const actFacts = ({ row, acts }: NumberTrace): TimelineFact[] =>
  acts.flatMap(({ at, action }) => {
    const known = actTexts.get(action)
    const isPresent =
      action === 'suspendNumber' && row.suspended_at && Math.abs(at.getTime() - row.suspended_at.getTime()) < sameActMs
    return known && !isPresent ? [{ at, ...known }] : []
  })

/** Returns the stored facts about a number. */
export const numberFacts = (trace: NumberTrace): TimelineFact[] => {
  const { row, transfers, deliveries, showsMoney } = trace
  return [
    ...(row.ordered_at ? [{ at: row.ordered_at, what: 'note' as const, text: 'Ordered from the supplier' }] : []),
    { at: row.created_at, what: 'bought', text: `${row.number} was assigned to the account` },
    ...registrationFacts(row),
    ...transfers.map((one) => chargeFact(one, showsMoney)),
    ...actFacts(trace),
    ...(row.suspended_at
      ? [
          {
            at: row.suspended_at,
            what: 'suspended' as const,
            text: `The number was suspended: ${row.suspension_reason}`,
            detail: { cause: row.suspension },
          },
        ]
      : []),
    ...(row.released_at ? [{ at: row.released_at, what: 'released' as const, text: 'The number was released' }] : []),
    ...attemptFacts(deliveries),
  ]
}

/** Returns the state of a number, and what helps next. */
export const numberVerdict = ({ row }: NumberTrace): Verdict => {
  const target = print('DID', row.id)
  const documents = {
    kind: 'provide_documents' as const,
    text: 'Give the missing documents with PUT /open/voip/virtual-numbers/{uuid}/requirements.',
    target,
  }
  switch (row.status_text) {
    case 'ACTIVE':
      return {
        state: 'succeeded',
        text: `The number works. It is paid until ${day(row.expires_at)}.`,
        step: nothingToDo,
      }
    case 'AWAITING_REGISTRATION':
      return {
        state: 'in_progress',
        text:
          row.registration === 'refused'
            ? `The documents were refused: ${row.registration_reason}.`
            : 'The number works while its documents are checked.',
        step: documents,
      }
    case 'PENDING_ACTIVATION':
      return {
        state: 'in_progress',
        text: 'The supplier has not delivered the number yet.',
        step: { kind: 'wait', text: 'Wait: the number works as soon as the supplier delivers it.' },
      }
    case 'SUSPENDED':
      return {
        state: 'failed',
        code: 'number_suspended',
        text: `The number is suspended: ${row.suspension_reason ?? 'no reason was given'}.`,
        step:
          row.suspension === 'registration'
            ? documents
            : { kind: 'ask_operator', text: 'Ask the operator to end the suspension.', target },
      }
    case 'PENDING_CANCELLATION':
      return { state: 'in_progress', text: 'The number is being released.', step: { kind: 'wait', text: 'Wait.' } }
    case 'RELEASED':
      return {
        state: 'succeeded',
        text: 'The number was released.',
        step: { kind: 'buy_number', text: 'Buy another number if you need one.' },
      }
  }
}
