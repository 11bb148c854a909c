import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { TSchema } from 'typebox'
import { csvExportLineOf } from '../lib/csv-cell.ts'
import type { Contract, Endpoint } from './endpoint.ts'
import { refusals } from './refusals.ts'
import { limiterKeyOf, onReplyEnd, type RequestLimiters } from './request-limiters.ts'

// Lists as CSV: `format=csv`, or `.csv` after the path, reads the pages of a list one after another and streams their
// rows. The next page is read once the client has taken the last one, so that an export of any length takes the memory
// of one page.

type Json = { readonly [name: string]: unknown }

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

const keyword = (schema: unknown, name: string): unknown => (isObject(schema) ? schema[name] : undefined)

const propertiesOf = (schema: unknown): [string, unknown][] => Object.entries(Object(keyword(schema, 'properties')))

const property = (schema: unknown, name: string): unknown => keyword(keyword(schema, 'properties'), name)

/** A column: its name, and the path of its value. A number is a position in a tuple. */
type Column = { readonly name: string; readonly path: readonly (string | number)[] }

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** Returns the schema of a value that may be null. A union of several kinds stays: it is one column, as JSON. */
const withoutNull = (schema: unknown): unknown => {
  const choices = listOf(keyword(schema, 'anyOf')).filter((one) => keyword(one, 'type') !== 'null')
  return choices.length === 1 ? choices[0] : schema
}

/** Returns a column for each value of a row, at any depth. Lists are one column. */
const columnsOf = (schema: unknown, path: readonly string[] = []): Column[] =>
  propertiesOf(withoutNull(schema)).flatMap(([name, inner]) =>
    propertiesOf(withoutNull(inner)).length > 0
      ? columnsOf(inner, [...path, name])
      : [{ name: [...path, name].join('.'), path: [...path, name] }],
  )

/** Where the rows of a list are, and how they become lines. */
type Table = {
  readonly columns: readonly string[]
  rows(reply: unknown): string[][]
}

const valueAt = (row: unknown, path: readonly (string | number)[]): unknown =>
  path.reduce<unknown>((value, step) => (value === null || value === undefined ? value : Object(value)[step]), row)

const textOf = (value: unknown): string => {
  if (value === undefined || value === null) return ''
  if (Array.isArray(value)) return value.some(isObject) ? JSON.stringify(value) : value.map(textOf).join(' ')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** Returns the columns of tuples, which their schema names, or of objects. */
const rowColumns = (schema: unknown): Column[] => {
  const items = keyword(schema, 'items')
  const isTuple = keyword(items, 'type') === 'array'
  const names = listOf(keyword(items, 'x-columns')).map(String)
  return isTuple ? names.map((name, i) => ({ name, path: [i] })) : columnsOf(items)
}

/** Reads the path of a contract: `data.users`, or `series.points` for the rows within each row of `series`. */
const tableOf = (reply: unknown, path: readonly string[]): Table => {
  const [name = '', ...rest] = path
  const schema = property(reply, name)
  if (keyword(schema, 'type') !== 'array') {
    const inner = tableOf(schema, rest)
    return { columns: inner.columns, rows: (value) => inner.rows(Object(value)[name]) }
  }
  const items = keyword(schema, 'items')
  if (rest.length === 0) {
    const columns = rowColumns(schema)
    return {
      columns: columns.map((column) => column.name),
      rows: (value) => listOf(Object(value)[name]).map((row) => columns.map((one) => textOf(valueAt(row, one.path)))),
    }
  }
  const inner = tableOf(items, rest)
  const outer = columnsOf(items).filter(({ path: [first] }) => first !== rest[0])
  return {
    columns: [...outer.map((column) => column.name), ...inner.columns],
    rows: (value) =>
      listOf(Object(value)[name]).flatMap((group) => {
        const start = outer.map((one) => textOf(valueAt(group, one.path)))
        return inner.rows(group).map((row) => [...start, ...row])
      }),
  }
}

/** Returns the name of a file: the last word of the address, such as `call-history`. */
const nameOf = ({ url }: Contract): string =>
  url.split('/').findLast((step) => step !== '' && !step.startsWith(':')) ?? ''

/** Names of the page parameters. */
const pageFields = ['page', 'page_number', 'per_page', 'format']

const tableIn = ({ csv, reply }: Contract): Table => tableOf(reply, csv?.split('.') ?? [])

/**
 * Returns the operation that answers a list as CSV alone, at a path of its own: a generated client knows the type of its
 * answer. Its id is that of the list, under which the audit trail records both ways.
 */
export const csvContractOf = (list: Contract): Contract => {
  const { query, summary, url } = list
  const noFilters = [...pageFields, 'results_per_page', 'cursor']
  const filters = Object.fromEntries(propertiesOf(query).filter(([name]) => !noFilters.includes(name)))
  const schema: TSchema = { type: 'object', ...query, properties: filters }
  return {
    ...list,
    csvOf: list,
    url: `${url}.csv`,
    summary: `${summary}, as CSV`,
    description:
      'All rows of the filters, however many. The first line names the columns. An account may have one export under way.',
    query: schema,
    // Plain, as the command line loads this file without the schema library.
    reply: { type: 'string', contentMediaType: 'text/csv', examples: [csvExportLineOf(tableIn(list).columns)] },
  }
}

/** Returns an endpoint, followed by its operation for CSV if it is a list. */
export const withCsv = (endpoint: Endpoint): Endpoint[] =>
  endpoint.contract.csv === undefined
    ? [endpoint]
    : [endpoint, { ...endpoint, contract: csvContractOf(endpoint.contract) }]

/** Returns the query of the largest page behind a cursor. */
const pageQuery = (contract: Contract, query: Json, cursor: unknown): Json => {
  const size = keyword(property(contract.query, 'results_per_page'), 'maximum')
  const filters = Object.fromEntries(Object.entries(query).filter(([name]) => !pageFields.includes(name)))
  return {
    ...filters,
    ...(typeof size === 'number' ? { results_per_page: size } : {}),
    ...(cursor === undefined ? {} : { cursor }),
  }
}

/** True for a request of CSV. */
export const wantsCsv = ({ csv, csvOf }: Contract, { query }: Pick<FastifyRequest, 'query'>): boolean =>
  csvOf !== undefined || (csv !== undefined && keyword(query, 'format') === 'csv')

/**
 * Answers with all rows of a list. The first page is read before the answer begins, so that a refusal has its status. A
 * fault after it ends the connection: the client sees an incomplete body.
 * @param readPage runs the handler of the list with another query
 * @param onBegin records the export, once its first page was read
 * @throws the 503 Problem if the account has an export under way
 */
export const sendCsv = async (
  contract: Contract,
  { exports }: Pick<RequestLimiters, 'exports'>,
  request: FastifyRequest,
  reply: FastifyReply,
  readPage: (query: Json) => Promise<Json>,
  onBegin: () => Promise<void>,
): Promise<FastifyReply> => {
  const key = limiterKeyOf(request)
  if (!exports.tryAcquire(key)) throw refusals.tooManyExports()
  onReplyEnd(reply, () => exports.release(key))
  const list = contract.csvOf ?? contract
  const table = tableIn(list)
  const query: Json = { ...Object(request.query) }
  const first = await readPage(pageQuery(list, query, query.cursor))
  await onBegin()
  const lines = async function* () {
    yield csvExportLineOf(table.columns)
    let page = first
    for (;;) {
      const text = table.rows(page).map(csvExportLineOf).join('')
      if (text !== '') yield text
      if (page.next_cursor === undefined || request.method === 'HEAD' || reply.raw.destroyed) return
      page = await readPage(pageQuery(list, query, page.next_cursor))
    }
  }
  const day = new Date().toISOString().slice(0, 10)
  return reply
    .type('text/csv; charset=utf-8')
    .header('content-disposition', `attachment; filename="${nameOf(list)}-${day}.csv"`)
    .send(Readable.from(lines(), { objectMode: false }))
}
