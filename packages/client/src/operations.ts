import type { CallOptions, FileContent } from './call-options.ts'
import { makeList } from './list.ts'
import type { HttpRequest, Transport } from './transport.ts'

/** Arguments of an operation: the fields of path, query and body in one object. */
type Arguments = Readonly<Record<string, unknown>>

type Operation = {
  readonly method: string
  readonly url: string
  /** Query fields of a request with a body. */
  readonly query: readonly string[]
  readonly rows: string | undefined
  readonly isFile: boolean
  readonly takesIdempotencyKey: boolean
}

const readRow = (row: string): Operation => {
  const [method = '', url = '', ...words] = row.split(' ')
  const after = (mark: string) => words.find((word) => word.startsWith(mark))?.slice(1)
  return {
    method,
    url,
    query: after('?')?.split(',') ?? [],
    rows: after('#'),
    isFile: words.includes('file'),
    takesIdempotencyKey: words.includes('once'),
  }
}

const hasBody = (method: string): boolean => method !== 'GET' && method !== 'DELETE'

/** @throws TypeError if a field of the path is missing */
const makeRequest = (name: string, operation: Operation, args: Arguments): HttpRequest => {
  const { method, url, query, takesIdempotencyKey } = operation
  const rest: Record<string, unknown> = { ...args }
  const path = url.replace(/:(\w+)/g, (_, field: string) => {
    const value = rest[field]
    if (typeof value !== 'string' || value === '') throw new TypeError(`${name}: ${field} is missing`)
    delete rest[field]
    return encodeURIComponent(value)
  })
  const search = new URLSearchParams()
  for (const [field, value] of Object.entries(rest))
    if (!hasBody(method) || query.includes(field)) {
      delete rest[field]
      if (value !== undefined && value !== null) search.append(field, String(value))
    }
  const text = search.toString()
  const common = {
    method,
    path: text ? `${path}?${text}` : path,
    takesIdempotencyKey,
    isRepeatable: method !== 'POST' || takesIdempotencyKey,
  }
  if (!hasBody(method)) return common
  if ('media_type' in rest) {
    const { file, media_type } = rest as { file: FileContent; media_type: string }
    return { ...common, body: file, mediaType: media_type }
  }
  return { ...common, body: JSON.stringify(rest), mediaType: 'application/json' }
}

type Method = (args?: Arguments, options?: CallOptions) => unknown

/** Returns the methods of a table of operations, by group and name. */
export const makeOperations = (
  table: Readonly<Record<string, string>>,
  transport: Transport,
): Record<string, Record<string, Method>> => {
  const groups: Record<string, Record<string, Method>> = {}
  for (const [name, row] of Object.entries(table)) {
    const operation = readRow(row)
    const send = (args: Arguments, options: CallOptions | undefined) =>
      transport.send(makeRequest(name, operation, args), options)
    const read = async (args: Arguments, options: CallOptions | undefined): Promise<Arguments> =>
      (await send(args, options)).json() as Promise<Arguments>
    const { rows } = operation
    const [group = '', method = ''] = name.split('.')
    groups[group] ??= {}
    groups[group][method] = (args = {}, options) => {
      if (rows !== undefined) return makeList(rows, (position) => read({ ...args, ...position }, options))
      return (operation.isFile ? send : read)(args, options)
    }
  }
  return groups
}
