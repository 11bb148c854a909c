import { dialledForms } from '@trunkline/phone/number-forms.ts'
import { e164 } from '@trunkline/phone/phone.ts'
import type { CallFilter, CallStatus } from '../../../domains/calls/compat/ops.ts'
import { boundOf } from '../../../platform/http/paging.ts'
import { daysOf } from '../day-filter.ts'
import type { TwilioCallStatus } from './statuses.ts'

/** The filters of a list of calls, as requested. */
type CallQuery = {
  readonly To?: string
  readonly From?: string
  readonly Status?: TwilioCallStatus
  readonly StartTime?: string
  readonly 'StartTime<'?: string
  readonly 'StartTime>'?: string
}

/** Filters of the domain, and the key that precedes the list. */
type Criteria = {
  readonly filter: Omit<CallFilter, 'narrowing'>
  readonly bound: readonly string[] | null
  /** The calls that filters of the domain leave: numbers of the account on the asked side, and unanswered calls of both kinds. */
  readonly isShown: (row: Row) => boolean
}

type Row = {
  readonly direction: 'O' | 'I'
  readonly from_number: string | null
  readonly to_number: string
  readonly caller_id_used: string
  readonly status: CallStatus
  readonly queued: boolean
}

/** Our statuses by those of Twilio. */
const ourStatuses: { readonly [status in TwilioCallStatus]: readonly CallStatus[] } = {
  queued: ['QUEUED'],
  initiated: ['QUEUED'],
  ringing: ['RINGING'],
  'in-progress': ['ANSWERED'],
  completed: ['COMPLETED'],
  busy: ['BUSY'],
  'no-answer': ['NO_ANSWER', 'MISSED'],
  canceled: ['CANCELED'],
  failed: ['FAILED'],
}

const formsOf = (text: string): readonly string[] => dialledForms(e164(text.trim()) ?? text.trim())

/**
 * Returns the filters of the domain. `To` of an inbound call and `From` of an outbound one are numbers of the account, so
 * each is looked for on either side, and the other sides are left out of the page.
 * @throws Problem 400 for a false day
 */
export const filterOf = (query: CallQuery): Criteria => {
  const days = daysOf(query, 'StartTime')
  const [to, from] = [query.To, query.From].map((text) => (text === undefined ? null : formsOf(text)))
  const accepted = query.Status === undefined ? null : ourStatuses[query.Status]
  return {
    filter: {
      ...{ direction: null, to: null, from: null, user: null, recorded: null, minDuration: null, digits: null },
      others: null,
      number: to ?? from ?? null,
      status: accepted?.length === 1 ? (accepted[0] ?? null) : null,
      since: days.since,
    },
    bound: days.until === null ? null : boundOf(days.until.toISOString()),
    isShown: (row) => {
      const caller = row.direction === 'I' ? (row.from_number ?? '') : row.caller_id_used
      return (
        (to == null || to.includes(row.to_number)) &&
        (from == null || from.includes(caller)) &&
        (accepted?.includes(row.status) ?? true) &&
        (query.Status !== 'queued' || row.queued) &&
        (query.Status !== 'initiated' || !row.queued)
      )
    },
  }
}
