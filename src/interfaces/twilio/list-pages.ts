import { Type } from 'typebox'
import type { ListPage } from '../../platform/db/list-query.ts'
import { readCursor, writeCursor } from '../../platform/lib/cursor.ts'
import { defaultPageSize, maxPageSize, maxPageTokenLength } from './limits.ts'
import { refusals } from './refusals.ts'

// Lists: pages of up to 1,000 rows. `next_page_uri` carries the filters, the number of the page and a token, our cursor.

/** Query parameters of every list. */
export const pageQuery = {
  PageSize: Type.Optional(
    Type.Integer({ minimum: 1, description: `Default: ${defaultPageSize}, at most ${maxPageSize}` }),
  ),
  Page: Type.Optional(Type.Integer({ minimum: 0, description: 'Counts pages. PageToken alone says where one begins' })),
  PageToken: Type.Optional(Type.String({ maxLength: maxPageTokenLength, description: 'Of next_page_uri' })),
}

/** Fields of every list, besides its rows. */
export const pageReply = {
  page: Type.Integer(),
  page_size: Type.Integer(),
  start: Type.Integer(),
  end: Type.Integer(),
  uri: Type.String(),
  first_page_uri: Type.String(),
  next_page_uri: Type.Union([Type.String(), Type.Null()]),
  previous_page_uri: Type.Null({ description: 'Lists are read forwards' }),
}

type PageQuery = { readonly PageSize?: number; readonly Page?: number; readonly PageToken?: string }

/** A requested page. */
export type TwilioPage = {
  readonly number: number
  readonly size: number
  /** Key of the row before the page, as time and id; null at the start of the list. */
  readonly after: readonly [time: string, id: string] | null
}

const prefix = 'PA'

/** Reads the requested page of a list. @throws Problem 400 for the token of another list */
export const pageOf = (list: string, { PageSize = defaultPageSize, Page = 0, PageToken }: PageQuery): TwilioPage => {
  const page = { number: PageToken === undefined ? 0 : Page, size: Math.min(PageSize, maxPageSize) }
  if (PageToken === undefined) return { ...page, after: null }
  const cursor = PageToken.startsWith(prefix) ? readCursor(list, PageToken.slice(prefix.length)) : null
  if (!cursor) throw refusals.badPageToken()
  return { ...page, after: [cursor.time, cursor.id] }
}

/**
 * Returns the fields of a page.
 * @param path of the list, without a query @param query as requested, from which the filters are kept
 * @param count rows in the page @param last key of its last row if more may follow, else null
 */
export const pageFields = (
  list: string,
  path: string,
  query: Readonly<Record<string, unknown>>,
  { number, size }: TwilioPage,
  count: number,
  last: { readonly time: string; readonly id: string } | null,
) => {
  const filters = Object.entries(query).filter(([name]) => !['PageSize', 'Page', 'PageToken'].includes(name))
  const uriOf = (page: number, token: string | null): string => {
    const parameters = new URLSearchParams(filters.map(([name, value]) => [name, String(value)]))
    parameters.set('PageSize', String(size))
    parameters.set('Page', String(page))
    if (token !== null) parameters.set('PageToken', token)
    return `${path}.json?${parameters}`
  }
  const token = typeof query.PageToken === 'string' ? query.PageToken : null
  const start = number * size
  return {
    page: number,
    page_size: size,
    start,
    end: Math.max(start, start + count - 1),
    uri: uriOf(number, token),
    first_page_uri: uriOf(0, null),
    next_page_uri: last === null ? null : uriOf(number + 1, prefix + writeCursor(list, last)),
    previous_page_uri: null,
  }
}

/** Returns the older of two keys that precede a list. */
const olderOf = (after: readonly string[] | null, bound: readonly string[] | null): readonly string[] | null => {
  if (after === null || bound === null) return after ?? bound
  return Date.parse(after[0] ?? '') < Date.parse(bound[0] ?? '') ? after : bound
}

/**
 * Returns the rows to read for a page: with one more, which shows whether others follow.
 * @param bound key that precedes the list, such as that of the last day; null: there is none
 */
export const rangeOf = ({ after, size }: TwilioPage, bound: readonly string[] | null = null): ListPage => ({
  after: olderOf(after, bound),
  skip: 0,
  limit: size + 1,
})

/** The key of a row, with the microseconds of its time. */
type RowKey = { readonly id: string; readonly at: string }

/** Returns the rows of a page among those of its range, and the key of the last one if others follow. */
export const cutPage = <R extends RowKey>(found: readonly R[], { size }: TwilioPage) => {
  const rows = found.slice(0, size)
  const last = found.length > size ? rows.at(-1) : undefined
  return { rows, next: last ? { time: last.at, id: last.id } : null }
}
