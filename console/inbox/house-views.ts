import { words } from '../words/en/inbox.ts'
import type { SavedView } from './inbox-types.ts'
import type { ListQuery } from './list-query.ts'

// Which list the address names: a view of the house or a saved one, and filters on top of it.

/** Views that every account has, in the order of the menu, with the name of their count. */
export const houseViews = [
  { slug: 'mine-and-unassigned', query: { status: 'open', assignee: 'me,none' }, counts: ['mine', 'unassigned'] },
  { slug: 'mine', query: { status: 'open', assignee: 'me' }, counts: ['mine'] },
  { slug: 'unassigned', query: { status: 'open', assignee: 'none' }, counts: ['unassigned'] },
  { slug: 'waiting', query: { status: 'open', waiting: true, sort: 'waiting_since' }, counts: ['waiting'] },
  { slug: 'mentions', query: { mentioned: 'me' }, counts: ['mentions'] },
  { slug: 'snoozed', query: { status: 'snoozed' }, counts: ['snoozed'] },
  { slug: 'all', query: { status: 'open' }, counts: ['open'] },
  { slug: 'closed', query: { status: 'closed' }, counts: [] },
] as const satisfies readonly { slug: string; query: ListQuery; counts: readonly string[] }[]

export type HouseView = (typeof houseViews)[number]['slug']

/** Views of one person: a session of a key has no conversations of its own. */
const personal: readonly string[] = ['mine-and-unassigned', 'mine', 'mentions']

export const houseViewsFor = (hasUser: boolean) => houseViews.filter(({ slug }) => hasUser || !personal.includes(slug))

export const startView = (hasUser: boolean): HouseView => (hasUser ? 'mine-and-unassigned' : 'all')

export type Search = Readonly<Record<string, string | undefined>>

/** Parameters of the address that change the list, with their names in the API. */
const filterNames = {
  status: 'status',
  assignee: 'assignee',
  tag: 'tag',
  channel_uuid: 'channel_uuid',
  kind: 'kind',
  unread: 'unread',
  waiting: 'waiting',
  priority: 'priority',
  since: 'since',
  until: 'until',
} as const

export const filtersIn = (search: Search): readonly string[] => Object.keys(filterNames).filter((name) => search[name])

const filterValue = (name: string, text: string): string | number | boolean =>
  name === 'unread' || name === 'waiting' ? text === 'true' : name === 'priority' ? Number(text) : text

/** The first moment of a day in the person's zone. */
const momentOf = (text: string): string => {
  const date = new Date(text.length === 10 ? `${text}T00:00:00` : text)
  return Number.isNaN(date.getTime()) ? new Date(0).toISOString() : date.toISOString()
}

/** Filters of the address, as the API names them. */
export const filterQuery = (search: Search): ListQuery =>
  Object.fromEntries(
    Object.entries(filterNames).flatMap(([name, field]) => {
      const text = search[name]
      if (!text) return []
      return [[field, name === 'since' || name === 'until' ? momentOf(text) : filterValue(name, text)]]
    }),
  ) as ListQuery // by the names above

/** The query of the list at an address. A search looks through all conversations: people search for what they miss. */
export const queryOf = (view: string, search: Search, saved: readonly SavedView[]): ListQuery => {
  const found = saved.find(({ uuid }) => uuid === view)
  const house: ListQuery = houseViews.find(({ slug }) => slug === view)?.query ?? {}
  const q = search.q?.trim()
  const base = found ? { ...filterQuery(found.query), ...(found.query.q ? { q: found.query.q } : {}) } : q ? {} : house
  return { ...base, ...filterQuery(search), ...(q ? { q } : {}) }
}

/** The name of a view. */
export const viewName = (view: string, saved: readonly SavedView[]): string =>
  houseViews.some(({ slug }) => slug === view)
    ? words.views[view as HouseView]
    : (saved.find(({ uuid }) => uuid === view)?.name ?? words.views.all)

type Counts = Readonly<Record<string, { readonly n: number; readonly more: boolean }>>

/** The count of a view, as text: `14`, `999+`; empty while it is not known. */
export const countText = (view: string, counts: Counts | null | undefined): string => {
  const names: readonly string[] = houseViews.find(({ slug }) => slug === view)?.counts ?? [view]
  const found = names.map((name) => counts?.[name])
  if (names.length === 0 || found.some((each) => each === undefined)) return ''
  const n = found.reduce((sum, each) => sum + (each?.n ?? 0), 0)
  return found.some((each) => each?.more) || n > 999 ? '999+' : String(n)
}
