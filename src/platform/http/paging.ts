import { type ListPage, maxPagedRows } from '../db/list-query.ts'
import { refusals } from './refusals.ts'

// Paging of every list: by page number within the first 10,000 rows, by cursor anywhere. See docs/lists.md.

/** Query parameters of a page. */
export type PagingQuery = {
  readonly page_number?: number | undefined
  readonly page?: number | undefined
  readonly results_per_page?: number | undefined
  readonly per_page?: number | undefined
  readonly cursor?: string | undefined
}

const defaultSize = 50

/** True if the query requests a page. Without one, some lists are returned whole. */
export const isPaged = ({ cursor, page_number, page, results_per_page, per_page }: PagingQuery): boolean =>
  [cursor, page_number, page, results_per_page, per_page].some((one) => one !== undefined)

/** True if the query requests a page by its number. */
export const isNumbered = ({ page_number, page }: PagingQuery): boolean =>
  page_number !== undefined || page !== undefined

/** Returns the number and size of the requested page. */
export const pageOf = (query: PagingQuery): { page: number; limit: number; offset: number } => {
  const page = query.page_number ?? query.page ?? 0
  const limit = query.results_per_page ?? query.per_page ?? defaultSize
  return { page, limit, offset: page * limit }
}

/** A requested page of rows. */
export type PageRequest = {
  readonly page: number
  /** Rows to present; null: all. */
  readonly limit: number | null
  /** What to read: one row more than `limit`, which shows whether another page follows. */
  readonly read: ListPage
  /** The page begins behind the rows that page numbers reach. */
  readonly isBeyond: boolean
  readonly field: string
}

/** Below every id of a second. */
const leastId = '00000000-0000-0000-0000-000000000000'

/** Returns the key that precedes the rows of a list, newest first, that are older than a time. */
export const boundOf = (until: string | undefined): readonly string[] | null =>
  until === undefined ? null : [new Date(until).toISOString(), leastId]

/** Returns the older of two keys. Two upper bounds make PostgreSQL before 18 start at either. */
const olderOf = (cursor: readonly string[] | null, bound: readonly string[] | null) => {
  const [at = '', limit = ''] = [cursor?.[0], bound?.[0]]
  return bound === null || (cursor !== null && Date.parse(at) < Date.parse(limit)) ? cursor : bound
}

/**
 * Reads the requested page.
 * @param cursor key that the query's cursor contains; null without a cursor
 * @param bound key that precedes the whole list, such as that of the filter `until`
 */
export const requestedPage = (
  query: PagingQuery,
  cursor: readonly string[] | null,
  bound: readonly string[] | null = null,
): PageRequest => {
  const { page, limit, offset } = pageOf(query)
  const isBeyond = cursor === null && offset >= maxPagedRows
  const skip = cursor === null ? Math.min(offset, maxPagedRows) : 0
  const field = query.page_number === undefined ? 'page' : 'page_number'
  return {
    page,
    limit,
    read: { after: olderOf(cursor, bound), skip, limit: isBeyond ? 1 : limit + 1 },
    isBeyond,
    field,
  }
}

/** Like `requestedPage`, for a list that is returned whole unless a page is requested. */
export const optionalPage = (query: PagingQuery, cursor: readonly string[] | null): PageRequest =>
  isPaged(query)
    ? requestedPage(query, cursor)
    : { page: 0, limit: null, read: { after: null, skip: 0, limit: null }, isBeyond: false, field: 'page' }

/** Refuses a page that begins behind the rows that page numbers reach, if it has rows. */
export const refuseBeyond = ({ page, isBeyond, field }: PageRequest, found: readonly unknown[]): void => {
  if (!isBeyond || found.length === 0) return
  throw refusals.pageBeyond(field, page, maxPagedRows)
}

/**
 * Cuts the rows read for a page to its size.
 * @param cursorOf writes the cursor of a row
 * @returns the rows, and the fields `count`, `page` and `next_cursor` of the reply
 * @throws the 400 Problem for a page that begins behind the rows that page numbers reach
 */
export const cutPage = <Row>(request: PageRequest, found: readonly Row[], cursorOf: (row: Row) => string) => {
  const { page, limit } = request
  refuseBeyond(request, found)
  const rows = limit === null ? found : found.slice(0, limit)
  const last = rows.length < found.length ? rows.at(-1) : undefined
  return {
    rows,
    fields: { count: rows.length, page, ...(last === undefined ? {} : { next_cursor: cursorOf(last) }) },
  }
}

/** Returns the fields `total` and `total_capped` of a reply.
 *  @param counted rows, counted at most one too far
 *  @param isCut true if not all rows were examined */
export const totalFields = (counted: number, isCut = false) =>
  counted > maxPagedRows || isCut
    ? { total: Math.min(counted, maxPagedRows), total_capped: true as const }
    : { total: counted }

/** Returns the field `next_cursor` alone, for lists without page numbers. */
export const nextOf = ({ next_cursor }: { readonly next_cursor?: string }) =>
  next_cursor === undefined ? {} : { next_cursor }
