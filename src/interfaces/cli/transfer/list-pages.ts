import type { TSchema } from 'typebox'
import { properties } from '../../../platform/http/openapi.ts'
import type { Request } from '../input/build-request.ts'
import type { Command } from '../input/command.ts'
import { keywords, kindOf } from '../input/option-field.ts'
import { type ParsedArguments, UsageError } from '../input/parse-arguments.ts'

type Reply = Readonly<Record<string, unknown>>

/** Returns the largest page size of a list, for reading all pages. */
const maxPageSize = (query: TSchema | undefined): string => {
  const size = new Map(properties(query)).get('results_per_page')
  return String((size && keywords(size).maximum) ?? 50)
}

/** Returns the name of a reply's list; null for a reply that is not a list. */
export const listOf = (reply: TSchema): string | null => {
  const lists = properties(reply).filter(([, property]) => kindOf(property) === 'rows')
  return lists.length === 1 ? (lists[0]?.[0] ?? null) : null
}

const propertyNames = (schema: TSchema | undefined) => new Set(properties(schema).map(([name]) => name))

const rowsOf = (reply: Reply, list: string): readonly unknown[] => {
  const rows = reply[list]
  return Array.isArray(rows) ? rows : []
}

/** Returns the request with other values in its query. */
const withQuery = (request: Request, values: Readonly<Record<string, string>>): Request => {
  const [path = '', search = ''] = request.path.split('?')
  const query = new URLSearchParams(search)
  for (const [name, value] of Object.entries(values)) query.set(name, value)
  return { ...request, path: `${path}?${query}` }
}

/**
 * Reads the pages of a list one by one: at most one is in memory.
 * @param ask sends a request
 * @throws UsageError for a command without a list, or an option that names a page
 */
export async function* pagesOf(
  { name, contract }: Command,
  request: Request,
  { options }: ParsedArguments,
  ask: (request: Request) => Promise<Reply>,
): AsyncGenerator<Reply> {
  const list = listOf(contract.reply)
  if (list === null || contract.method !== 'GET')
    throw new UsageError(`${name} does not return a list: --all is for lists`)
  const page = ['cursor', 'page', 'page-number'].find((option) => options.has(option))
  if (page) throw new UsageError(`--all returns every page: omit --${page}`)
  const [parameters, fields] = [propertyNames(contract.query), propertyNames(contract.reply)]
  const size = options.has('results-per-page') || options.has('per-page') || !parameters.has('results_per_page')
  const sized = size ? {} : { results_per_page: maxPageSize(contract.query) }
  if (parameters.has('cursor') && fields.has('next_cursor')) {
    for (let cursor: unknown = null; ; ) {
      const reply = await ask(withQuery(request, cursor === null ? sized : { ...sized, cursor: String(cursor) }))
      yield reply
      cursor = reply.next_cursor
      if (typeof cursor !== 'string') return
    }
  }
  if (!parameters.has('page_number')) {
    yield await ask(request)
    return
  }
  let seen = 0
  for (let number = 0; ; number++) {
    const reply = await ask(withQuery(request, { ...sized, page_number: String(number) }))
    yield reply
    const { length } = rowsOf(reply, list)
    seen += length
    if (length === 0 || seen >= Number(reply.total ?? 0)) return
  }
}

/** Joins all pages into one reply. */
export const joinPages = async (command: Command, pages: AsyncIterable<Reply>): Promise<Reply> => {
  const list = listOf(command.contract.reply) ?? ''
  const rows: unknown[] = []
  let first: Reply | null = null
  for await (const page of pages) {
    first ??= page
    rows.push(...rowsOf(page, list))
  }
  const { next_cursor: _, page: _page, ...rest } = first ?? {}
  return { ...rest, ...('count' in rest ? { count: rows.length } : {}), [list]: rows }
}
