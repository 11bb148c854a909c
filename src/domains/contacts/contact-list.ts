import type { Db } from '../../platform/db/sql.ts'
import { cursorsOf } from '../../platform/http/list-cursor.ts'
import { cutPage, type PageRequest, type PagingQuery, requestedPage, totalFields } from '../../platform/http/paging.ts'
import { refuse } from '../../platform/http/problem.ts'
import { refusals as httpRefusals } from '../../platform/http/refusals.ts'
import { readParts, writeParts } from '../../platform/lib/cursor.ts'
import { parse, print } from '../../platform/lib/id.ts'
import { presentContact } from './contact-presenter.ts'
import { listContacts } from './contract.ts'
import { maxFoundContacts } from './limits.ts'
import { load } from './ops.ts'
import { refusals } from './refusals.ts'
import { channelIn } from './request-fields.ts'
import { search } from './search/contact-search.ts'
import * as store from './store.ts'

export type ContactQuery = PagingQuery & {
  q?: string
  channel_uuid?: string
  blocked?: boolean
  sort?: store.ContactList['sort']
}

const cursors = cursorsOf(listContacts)

// Cursors of the other orders: their names differ, so that a cursor of one order is refused by another.
const nameList = `${listContacts.id}:name`
const foundList = `${listContacts.id}:q`

const badCursor = (): never => refuse(httpRefusals.badCursor())

/** Reads the cursor of a list by name: the key of its last row. */
const nameKey = (value: string): readonly string[] => {
  const [id = '', name = ''] = readParts(nameList, value, 2) ?? badCursor()
  return parse('CON', print('CON', id)) === null ? badCursor() : [name, id]
}

/** Reads the cursor of a search: how many matches precede the page. */
const foundOffset = (value: string): number => {
  const [text = ''] = readParts(foundList, value, 1) ?? badCursor()
  const offset = /^\d{1,4}$/.test(text) ? Number(text) : badCursor()
  return offset <= maxFoundContacts ? offset : badCursor()
}

/** Orders without page numbers. */
const refusePages = (query: PagingQuery): void => {
  if (query.cursor !== undefined) return
  if ((query.page_number ?? 0) > 0) throw refusals.pageByName('page_number')
  if ((query.page ?? 0) > 0) throw refusals.pageByName('page')
}

const requested = (query: ContactQuery): PageRequest => {
  if (query.sort !== 'name') {
    const after = cursors.read(query.cursor)
    return requestedPage(query, after && [after.id])
  }
  refusePages(query)
  return requestedPage(query, query.cursor === undefined ? null : nameKey(query.cursor))
}

/** Lists contacts: a page in an order, or the best matches of a text. */
export const makeContactList = (db: Db) => {
  const foundPage = async (account: string, text: string, query: ContactQuery) => {
    refusePages(query)
    const { page, limit } = requestedPage(query, null)
    const size = limit ?? maxFoundContacts
    const offset = query.cursor === undefined ? 0 : foundOffset(query.cursor)
    const channel = await channelIn(db, account, query.channel_uuid)
    const found = await search(db, account, text, { channel, isBlocked: query.blocked, limit: size, offset })
    const total = Math.min(found.total, maxFoundContacts)
    const contacts = found.contacts.slice(0, Math.max(0, total - offset))
    const end = offset + contacts.length
    return {
      count: contacts.length,
      page,
      total,
      ...(end < total && contacts.length > 0 ? { next_cursor: writeParts(foundList, [String(end)]) } : {}),
      contacts: contacts.map(presentContact),
    }
  }

  const totalOf = async (account: string, list: store.ContactList) =>
    list.channel === null && !list.isBlocked
      ? // The account's contacts are counted as they change.
        { total: await store.total(db, account) }
      : totalFields(await store.filteredTotal(db, account, list))

  return async (account: string, query: ContactQuery) => {
    const { q = '', sort = 'created_at', blocked: isBlocked = false } = query
    if (q.trim() !== '') return foundPage(account, q, query)
    const pageRequest = requested(query)
    const channel = await channelIn(db, account, query.channel_uuid)
    const list = { channel, isBlocked, sort }
    const found = await store.page(db, account, list, pageRequest.read)
    const { rows, fields } = cutPage(pageRequest, found, ({ at, id, name_key }) =>
      sort === 'name' ? writeParts(nameList, [id, name_key]) : cursors.write({ time: at, id }),
    )
    const ids = rows.map(({ id }) => id)
    const [contacts, total] = await Promise.all([load(db, account, ids), totalOf(account, list)])
    const places = new Map(ids.map((id, i) => [id, i]))
    contacts.sort((one, other) => (places.get(one.id) ?? 0) - (places.get(other.id) ?? 0))
    return { ...fields, ...total, count: contacts.length, contacts: contacts.map(presentContact) }
  }
}
