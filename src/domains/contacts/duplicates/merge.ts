import type { Static } from 'typebox'
import type { Tx } from '../../../platform/db/sql.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { parse } from '../../../platform/lib/id.ts'
import { fieldsIn } from '../contact-fields.ts'
import type { Contact } from '../contact-presenter.ts'
import { toInput, unique } from '../details.ts'
import { maxDetails } from '../limits.ts'
import { change, type Draft, load, setBlocked } from '../ops.ts'
import { refusals } from '../refusals.ts'
import { channelIn, detailsIn, withStored } from '../request-fields.ts'
import * as contacts from '../store.ts'
import type { mergeContacts } from './contract.ts'

type Body = Static<(typeof mergeContacts)['body']>

/** The values that remain: those of `fields`, else the own ones, else the first that another contact has. */
const draftOf = async (tx: Tx, account: string, all: readonly Contact[], fields: Body['fields'] = {}) => {
  const first = (value: (one: Contact) => string | null): string | null =>
    all.map(value).find((one) => one !== null && one !== '') ?? null
  const had = all.flatMap((one) => one.details)
  const submitted = detailsIn(fields, 'fields.')
  const details = submitted ? withStored(submitted, had) : unique(had.map(toInput))
  if (details.length > maxDetails) throw refusals.tooManyDetails(details.length, maxDetails)
  const isMoved = fields.channel_uuid !== undefined
  const draft: Draft = {
    ...fieldsIn(fields, (name) => first((one) => one[name])),
    channel_id: isMoved ? await channelIn(tx, account, fields.channel_uuid) : first((one) => one.channel_id),
    details,
  }
  return { draft, isBlocked: fields.blocked ?? all.some((one) => one.blocked_at !== null) }
}

/**
 * Merges contacts into one, and deletes the others. Its last statement counts contacts.
 * @param target printed id of the contact that remains
 * @returns the contact before and after, and those that were merged into it
 * @throws Problem 400, 404, 422
 */
export const merge = async (tx: Tx, account: string, target: string, { from, fields }: Body) => {
  const id = parse('CON', target) ?? refuse(refusals.unknownContact(target))
  const others = from.map((one) => parse('CON', one) ?? refuse(refusals.unknownContact(one, 'from')))
  if (others.includes(id)) throw refusals.mergeWithItself()
  const ids = [...new Set([id, ...others])]
  await contacts.lock(tx, account, ids)
  const found = new Map((await load(tx, account, ids)).map((contact) => [contact.id, contact]))
  const before = found.get(id) ?? refuse(refusals.unknownContact(target))
  const merged = others.map((other, i) => found.get(other) ?? refuse(refusals.unknownContact(from[i] ?? '', 'from')))
  const { draft, isBlocked } = await draftOf(tx, account, [before, ...merged], fields)
  await contacts.remove(tx, account, others)
  // One event: that of the last change.
  const changed = await change(tx, before, draft)
  const after = await setBlocked(tx, changed, isBlocked)
  await contacts.count(tx, account, -merged.length, null)
  return { before, after, merged }
}
