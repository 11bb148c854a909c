import { ok, route } from '../../../platform/http/endpoint.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { refusals as httpRefusals } from '../../../platform/http/refusals.ts'
import { readParts, writeParts } from '../../../platform/lib/cursor.ts'
import type { Services } from '../../../services.ts'
import { presentContact } from '../contact-presenter.ts'
import { load } from '../ops.ts'
import * as c from './contract.ts'
import { merge } from './merge.ts'
import * as store from './store.ts'

const list = c.listDuplicates.id
const defaultSize = 50

/** Reads a cursor: the kind of the list, and the last key of the page. */
const keyAfter = (by: string, cursor: string | undefined): string => {
  if (cursor === undefined) return ''
  const [kind, key = ''] = readParts(list, cursor, 2) ?? refuse(httpRefusals.badCursor())
  return kind === by ? key : refuse(httpRefusals.badCursor())
}

export const duplicateRoutes = ({ db }: Services) => [
  route(c.listDuplicates, async ({ account, query }) => {
    const { by = 'number', results_per_page: size = defaultSize } = query
    const found = await store.duplicates(db, account.id, by, keyAfter(by, query.cursor), size + 1)
    const groups = found.groups.slice(0, size)
    const last = groups.length < found.groups.length ? (groups.at(-1)?.key ?? null) : found.last
    const contacts = await load(db, account.id, [...new Set(groups.flatMap(({ ids }) => ids))])
    const byId = new Map(contacts.map((contact) => [contact.id, presentContact(contact)]))
    const duplicates = groups.map(({ key, count, ids }) => ({
      by,
      key,
      count,
      contacts: ids.flatMap((id) => byId.get(id) ?? []),
    }))
    return ok({
      count: duplicates.length,
      duplicates,
      ...(last === null ? {} : { next_cursor: writeParts(list, [by, last]) }),
    })
  }),

  route(c.mergeContacts, async ({ account, params, body, tx, audit }) => {
    const { before, after, merged } = await merge(tx, account.id, params.contact_uuid, body)
    const gone = merged.map(presentContact)
    await audit(tx, {
      target: [params.contact_uuid, ...gone.map(({ uuid }) => uuid)],
      before: { ...presentContact(before), merged: gone },
      after: { ...presentContact(after), merged: [] },
    })
    return ok({ contact: presentContact(after), merged: merged.length })
  }),
]
