import { dialledForms, numberForms } from '@trunkline/phone/number-forms.ts'
import type { Static } from 'typebox'
import type { Db } from '../../platform/db/sql.ts'
import { hasOneOf } from '../../platform/http/capability.ts'
import { phoneNumber } from '../../platform/http/validation.ts'
import { fullName } from '../../platform/lib/full-name.ts'
import { contactsByNumber } from '../contacts/ops.ts'
import { findContacts } from '../contacts/search/ops.ts'
import { requireUser } from '../users/ops.ts'
import type { getCallHistory } from './contract.ts'
import { maxSearchedContacts } from './limits.ts'
import type { CallFilter, CallRow } from './store.ts'

type Query = Static<typeof getCallHistory.query>

/** Carriers give a caller in any form that is dialled. */
const formsOf = (value: string | undefined) => (value === undefined ? null : dialledForms(phoneNumber(value)))

/** Reads a search: digits of a number, or the numbers of contacts with a name, for readers who may see contacts. */
const searchOf = async (
  db: Db,
  account: string,
  q: string,
  seesContacts: boolean,
): Promise<Pick<CallFilter, 'digits' | 'others'>> => {
  const digits = q.replace(/\D/g, '').replace(/^0+(?=[1-9])/, '')
  if (digits !== '' && /^[\d\s().+-]+$/.test(q))
    return { digits: dialledForms(`+${digits}`).map((form) => form.slice(1)), others: null }
  if (!seesContacts) return { digits: null, others: [] }
  const found = await findContacts(db, account, q, { offset: 0, limit: maxSearchedContacts })
  return { digits: null, others: found.flatMap(({ detail }) => numberForms(detail)) }
}

/** Reads the filters of the call history. A number that is called finds outbound calls, one that calls inbound ones. */
export const readFilter = async (
  db: Db,
  account: string,
  query: Query,
  key: Parameters<typeof hasOneOf>[0],
  narrowing: CallFilter['narrowing'],
): Promise<CallFilter> => {
  const { direction } = query
  return {
    direction: direction === undefined ? null : direction === 'inbound' ? 'I' : 'O',
    to: formsOf(query.to_number),
    from: formsOf(query.from_number),
    status: query.status ?? null,
    since: query.since === undefined ? null : new Date(query.since),
    user: query.user_uuid === undefined ? null : await requireUser(db, account, query.user_uuid),
    number: formsOf(query.number),
    recorded: query.recorded === undefined ? null : query.recorded === 'true',
    minDuration: query.min_duration ?? null,
    narrowing,
    ...(query.q === undefined
      ? { digits: null, others: null }
      : await searchOf(db, account, query.q, hasOneOf(key, 'inbox'))),
  }
}

const otherOf = ({ direction, from_number, to_number }: CallRow) => (direction === 'O' ? to_number : from_number)

/** Returns a function that names the contact of a call, for readers who may see contacts. */
export const callNames = async (db: Db, rows: readonly CallRow[], key: Parameters<typeof hasOneOf>[0]) => {
  const isShown = hasOneOf(key, 'inbox')
  const lookups = rows.flatMap((row) => {
    const number = otherOf(row)
    return isShown && number !== null ? [{ account: row.account_id, number }] : []
  })
  const known = await contactsByNumber(db, lookups)
  return (row: CallRow): { contact_name?: string } => {
    const contact = known.get(`${row.account_id} ${otherOf(row)}`)
    return contact ? { contact_name: fullName(contact) } : {}
  }
}
