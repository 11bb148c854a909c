import type { Db } from '../../platform/db/sql.ts'
import type { Capability } from '../../platform/http/capability.ts'
import { iso } from '../../platform/lib/clock.ts'
import { type Prefix, parse, print } from '../../platform/lib/id.ts'
import { visibleCalls } from '../calls/ops.ts'
import { findContactById, findContacts } from '../contacts/search/ops.ts'
import type { Narrowing } from '../inbox/narrowing/ops.ts'
import type { InboxSearch } from '../inbox/search/ops.ts'
import { marksOf, numbersMeant, partOf } from './spellings.ts'
import * as store from './store.ts'

export const searchKinds = ['conversations', 'texts', 'notes', 'contacts', 'numbers', 'calls', 'events'] as const
export type SearchKind = (typeof searchKinds)[number]

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
  /** Results of each kind. */
  readonly limit: number
  /** True if the reader has one of these capabilities. */
  readonly may: (...capabilities: readonly Capability[]) => boolean
  /** Conversations that the reader sees of the log of messages and calls; null: all. */
  readonly narrowing: Narrowing | null
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

const finders: { readonly [kind in SearchKind]: (db: Db, query: Query, limit: number) => Promise<SearchHit[]> } = {
  conversations: async (_db, { inbox, text }, limit) => (await inbox?.conversations(text, limit)) ?? [],
  notes: async (_db, { inbox, text }, limit) => (await inbox?.notes(text, limit)) ?? [],
  contacts: async (db, { account, text, meant, may }, limit) => {
    if (!may('inbox')) return []
    const id = idOf(text, 'CON')
    const byText = id ? await findContactById(db, account, id) : await findContacts(db, account, text, limit)
    // Another spelling of a number: its E.164 form finds the contact too.
    const [number] = meant
    const found = byText.length > 0 || number === undefined ? byText : await findContacts(db, account, number, limit)
    return found.map(({ uuid, name, detail, createdAt }) => ({
      uuid,
      title: name === '' ? detail : name,
      text: detail,
      at: iso(createdAt),
      href: `/open/contacts/${uuid}`,
    }))
  },
  numbers: async (db, { account, text, meant, part, may }, limit) => {
    if (!may('read_only')) return []
    const id = idOf(text, 'DID')
    const rows = id
      ? await store.numberById(db, account, id)
      : await store.numbers(db, account, { meant, part, name: text }, limit)
    return rows.map(numberResult)
  },
  texts: async (db, { account, text, meant, may, inbox, narrowing }, limit) => {
    // The log has messages of all conversations: a reader who may see some of them alone searches these.
    if (narrowing !== null) return (await inbox?.texts(text, limit)) ?? []
    const [sms, message] = [idOf(text, 'SMO', 'SMI'), idOf(text, 'MSG')]
    const rows = sms
      ? await store.smsById(db, account, sms)
      : message
        ? await store.messageById(db, account, message)
        : meant.length === 0
          ? []
          : [
              ...(await store.smsWith(db, account, meant, limit)),
              ...(await store.messagesWith(db, account, meant, limit)),
            ]
    if (rows.length === 0) return (await inbox?.texts(text, limit)) ?? []
    const showsText = may('develop') || (may('inbox') && !inbox?.isNarrowed)
    return rows
      .toSorted((one, other) => other.created_at.getTime() - one.created_at.getTime())
      .map((row) => textResult(row, showsText))
      .filter(({ uuid }) => sms === null || uuid.slice(0, 3) === text.slice(0, 3).toUpperCase())
  },
  calls: async (db, { account, text, meant, may, narrowing }, limit) => {
    if (!may('read_only')) return []
    const id = idOf(text, 'CDR')
    const rows = id
      ? await store.callById(db, account, id)
      : meant.length === 0
        ? []
        : await store.callsWith(db, account, meant, limit)
    if (narrowing === null) return rows.map(callResult)
    const ids = rows.map((row) => row.id)
    const seen = await visibleCalls(db, narrowing, ids)
    return rows.filter((row) => seen.has(row.id)).map(callResult)
  },
  events: async (db, { account, text, may }) => {
    if (!may('read_only')) return []
    const id = idOf(text, 'EVT')
    const rows = id ? await store.eventById(db, account, id) : []
    return rows.map((row) => ({
      uuid: print('EVT', row.id),
      title: row.name,
      text: '',
      at: iso(row.created_at),
      href: `/open/events/${print('EVT', row.id)}`,
    }))
  },
}

/** Searches each kind, along indexes. @returns only kinds with results */
export const searchAll = async (db: Db, request: SearchRequest) => {
  const text = request.text.trim()
  const part = partOf(text)
  const countries = part === null ? [] : await store.countries(db, request.account)
  const query: Query = { ...request, text, part, meant: numbersMeant(text, countries) }
  const groups = []
  for (const kind of request.kinds) {
    const found = await finders[kind](db, query, request.limit + 1)
    const results = found.slice(0, request.limit).map((one) => ({ ...one, marks: marksOf(one.title, text) }))
    if (results.length > 0)
      groups.push({ in: kind, count: results.length, more: found.length > request.limit, results })
  }
  return groups
}
