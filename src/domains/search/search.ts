import type { Db } from '../../platform/db/sql.ts'
import type { Capability } from '../../platform/http/capability.ts'
import { iso } from '../../platform/lib/clock.ts'
import { type Prefix, parse, print } from '../../platform/lib/id.ts'
import { visibleCalls } from '../calls/ops.ts'
import { findContactById, findContacts } from '../contacts/search/ops.ts'
import type { Contents, Narrowing } from '../inbox/narrowing/ops.ts'
import type { InboxSearch } from '../inbox/search/ops.ts'
import type { SearchKind } from './kinds.ts'
import { asId, asKey, asRank, type Position, type Positions } from './search-cursor.ts'
import { marksOf, numbersMeant, partOf } from './spellings.ts'
import * as store from './store.ts'

export type SearchResult = {
  readonly uuid: string
  readonly title: string
  readonly text: string
  readonly at?: string
  readonly href: string
  readonly marks: [number, number][]
  readonly text_marks?: [number, number][]
  readonly conversation_uuid?: string
}

/** A search of one account. */
export type SearchRequest = {
  readonly account: string
  readonly text: string
  readonly kinds: readonly SearchKind[]
  /** The kinds that have more results, and the positions of their next pages; null: the first page of all kinds. */
  readonly after: Positions | null
  /** Results of each kind. */
  readonly limit: number
  /** True if the reader has one of these capabilities. */
  readonly may: (...capabilities: readonly Capability[]) => boolean
  /** Conversations that the reader sees of the log of messages and calls; null: all. */
  readonly narrowing: Narrowing | null
  /** Contents that the reader sees of the log. */
  readonly contents: Contents
  /** Search of the reader in conversations; null for a reader without the right. */
  readonly inbox: InboxSearch | null
}

/** Returns the bare id that a text is, in any letter case of its uuid; null for other texts. */
const idOf = (text: string, ...prefixes: readonly Prefix[]): string | null => {
  for (const prefix of prefixes) {
    const id = parse(prefix, text.slice(0, 3).toUpperCase() + text.slice(3))
    if (id !== null) return id
  }
  return null
}

const numberResult = (row: store.NumberRow) => ({
  uuid: print('DID', row.id),
  title: row.number,
  text: row.friendly_name,
  at: iso(row.created_at),
  href: `/open/voip/virtual-numbers/${print('DID', row.id)}`,
})

const textResult = (row: store.TextRow, showsText: boolean) => {
  const [from, to] = row.direction === 'inbound' ? [row.contact, row.number] : [row.number, row.contact]
  const uuid = print(row.kind === 'msgapp' ? 'MSG' : row.direction === 'inbound' ? 'SMI' : 'SMO', row.id)
  const key = `WW-${print('WPN', row.channel_id)}-${row.peer}`
  return {
    uuid,
    title: `${from} → ${to}`,
    text: showsText ? row.text : '',
    at: iso(row.created_at),
    href: row.kind === 'sms' ? `/open/sms/message/${uuid}` : `/open/msgapp/message/${encodeURIComponent(key)}/${uuid}`,
  }
}

const callResult = (row: store.CallRow) => ({
  uuid: print('CDR', row.id),
  title: row.direction === 'I' ? (row.from_number ?? '') : row.to_number,
  text: `${row.direction === 'I' ? 'inbound' : 'outbound'}, ${row.status}, ${row.duration} s`,
  at: iso(row.created_at),
  href: `/open/voip/call/${print('CDR', row.id)}`,
})

type SearchHit = Omit<SearchResult, 'marks'>

/** A search with the spellings and the part of a number that its text may mean. */
type Query = SearchRequest & { readonly meant: readonly string[]; readonly part: string | null }

type Page = { readonly after: Position | null; readonly limit: number }

/** Results of one page. @property next position of the next page; null: there is none */
type KindResults = { readonly hits: readonly SearchHit[]; readonly next: Position | null }

const nothing: KindResults = { hits: [], next: null }

/** Returns a page of rows by time and id, of which one more than wanted was read. */
const cutByKey = <Row extends { id: string; exact: string }>(rows: readonly Row[], limit: number) => {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  return { shown, next: rows.length > limit && last ? { time: last.exact, id: last.id } : null }
}

const finders: { readonly [kind in SearchKind]: (db: Db, query: Query, page: Page) => Promise<KindResults> } = {
  conversations: async (_db, { inbox, text }, { after, limit }) =>
    (await inbox?.conversations(text, { after: asRank(after), limit })) ?? nothing,
  notes: async (_db, { inbox, text }, { after, limit }) =>
    (await inbox?.notes(text, { after: asId(after), limit })) ?? nothing,
  contacts: async (db, { account, text, meant, may }, { after, limit }) => {
    if (!may('inbox')) return nothing
    const [id, from] = [idOf(text, 'CON'), asRank(after)]
    const page = { offset: from, limit: limit + 1 }
    const byText = id ? await findContactById(db, account, id) : await findContacts(db, account, text, page)
    // Another spelling of a number: its E.164 form finds the contact too.
    const [number] = meant
    const found = byText.length > 0 || number === undefined ? byText : await findContacts(db, account, number, page)
    const hits = found.slice(0, limit).map(({ uuid, name, detail, createdAt }) => ({
      uuid,
      title: name === '' ? detail : name,
      text: detail,
      at: iso(createdAt),
      href: `/open/contacts/${uuid}`,
    }))
    return { hits, next: found.length > limit ? from + limit : null }
  },
  numbers: async (db, { account, text, meant, part, may }, { after, limit }) => {
    if (!may('read_only')) return nothing
    const id = idOf(text, 'DID')
    const page = { after: asKey(after), limit: limit + 1 }
    const rows = id
      ? await store.numberById(db, account, id)
      : await store.numbers(db, account, { meant, part, name: text }, page)
    const { shown, next } = cutByKey(rows, limit)
    return { hits: shown.map(numberResult), next }
  },
  texts: async (db, { account, text, meant, inbox, narrowing, contents }, { after, limit }) => {
    const byWords = async () => (await inbox?.texts(text, { after: asId(after), limit })) ?? nothing
    // The log has messages of all conversations: a reader who may see some of them alone searches these.
    if (narrowing !== null || typeof after === 'string') return byWords()
    const page = { before: asKey(after), limit: limit + 1 }
    const [sms, message] = [idOf(text, 'SMO', 'SMI'), idOf(text, 'MSG')]
    const rows = sms
      ? await store.smsById(db, account, sms)
      : message
        ? await store.messageById(db, account, message)
        : meant.length === 0
          ? []
          : [
              ...(await store.smsWith(db, account, meant, page)),
              ...(await store.messagesWith(db, account, meant, page)),
            ]
    if (rows.length === 0 && after === null) return byWords()
    const newestFirst = rows.toSorted((one, other) => (one.exact + one.id < other.exact + other.id ? 1 : -1))
    const { shown, next } = cutByKey(newestFirst, limit)
    const hits = shown
      .map((row) => textResult(row, contents.messages))
      .filter(({ uuid }) => sms === null || uuid.slice(0, 3) === text.slice(0, 3).toUpperCase())
    return { hits, next }
  },
  calls: async (db, { account, text, meant, may, narrowing }, { after, limit }) => {
    if (!may('read_only')) return nothing
    const id = idOf(text, 'CDR')
    const rows = id
      ? await store.callById(db, account, id)
      : meant.length === 0
        ? []
        : await store.callsWith(db, account, meant, { before: asKey(after), limit: limit + 1 })
    const { shown, next } = cutByKey(rows, limit)
    if (narrowing === null) return { hits: shown.map(callResult), next }
    const ids = shown.map((row) => row.id)
    const seen = await visibleCalls(db, narrowing, ids)
    return { hits: shown.filter((row) => seen.has(row.id)).map(callResult), next }
  },
  events: async (db, { account, text, may }) => {
    if (!may('read_only')) return nothing
    const id = idOf(text, 'EVT')
    const rows = id ? await store.eventById(db, account, id) : []
    const hits = rows.map((row) => ({
      uuid: print('EVT', row.id),
      title: row.name,
      text: '',
      at: iso(row.created_at),
      href: `/open/events/${print('EVT', row.id)}`,
    }))
    return { hits, next: null }
  },
}

/** Searches each kind, along indexes. @returns only kinds with results, and the positions of those with more */
export const searchAll = async (db: Db, request: SearchRequest) => {
  const text = request.text.trim()
  const part = partOf(text)
  const countries = part === null ? [] : await store.countries(db, request.account)
  const query: Query = { ...request, text, part, meant: numbersMeant(text, countries) }
  const { after, limit } = request
  const groups = []
  const positions = new Map<SearchKind, Position>()
  for (const kind of request.kinds.filter((one) => after === null || after.has(one))) {
    const { hits, next } = await finders[kind](db, query, { after: after?.get(kind) ?? null, limit })
    const results = hits.map((one) => ({ ...one, marks: marksOf(one.title, text) }))
    if (results.length > 0) groups.push({ in: kind, count: results.length, more: next !== null, results })
    if (next !== null) positions.set(kind, next)
  }
  return { groups, next: positions }
}
