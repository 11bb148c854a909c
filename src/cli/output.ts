import type { TSchema } from 'typebox'
import { properties } from '../http/openapi.ts'
import { nearest } from '../lib/nearest.ts'
import { UsageError } from './args.ts'
import { itemsOf, keywords, kindOf, present } from './field.ts'

type Json = Record<string, unknown>

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

/** A value as text. Control characters are shown, not sent to the terminal: names come from strangers. */
export const show = (value: unknown): string => {
  if (value === undefined || value === null) return ''
  if (Array.isArray(value)) return value.map(show).join(',')
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  return text.replace(/\p{Cc}/gu, (control) => `\\x${control.charCodeAt(0).toString(16).padStart(2, '0')}`)
}

const at = (row: unknown, [name, ...rest]: readonly string[]): unknown =>
  name === undefined
    ? row
    : Array.isArray(row)
      ? row.map((one) => at(one, [name, ...rest]))
      : isObject(row)
        ? at(row[name], rest)
        : undefined

const isTime = (schema: TSchema) => keywords(schema).format === 'date-time'

/** Table columns: those that the schema names, else plain values, then objects, then times. */
const columnsOf = (schema: TSchema): string[][] => {
  const named = keywords(schema)['x-columns']
  if (Array.isArray(named)) return named.map((path) => String(path).split('.'))
  const all = properties(present(schema))
  const plain = all.filter(([, property]) => kindOf(property) !== 'object' && kindOf(property) !== 'rows')
  const names = (found: [string, TSchema][]) => found.map(([name]) => [name])
  const objects = all.filter(([, property]) => kindOf(property) === 'object')
  return [
    ...names(plain.filter(([, property]) => !isTime(property))),
    ...objects.flatMap(([name, property]) => columnsOf(property).map((path) => [name, ...path])),
    ...names(plain.filter(([, property]) => isTime(property))),
  ]
}

const longest = 40

const shorten = (text: string) => (text.length > longest ? `${text.slice(0, longest - 1)}…` : text)

/** Lines of columns that are as wide as their widest cell. */
const align = (lines: readonly (readonly string[])[]): string => {
  const widths = (lines[0] ?? []).map((_, i) => Math.max(...lines.map((line) => line[i]?.length ?? 0)))
  return lines
    .map((line) =>
      line
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** Columns of a table unless the user names others. */
const mostColumns = 7

/** @throws UsageError for a name that is no column */
const chosenColumns = (all: readonly string[][], names: readonly string[]): string[][] =>
  names.map((name) => {
    const known = all.map((path) => path.join('.'))
    const path = all.find((one) => one.join('.') === name)
    if (path) return path
    throw new UsageError(
      `there is no column "${name}"; did you mean ${nearest(name, known)}? The columns are ${known.join(', ')}`,
    )
  })

/** Checks named columns against the lists of an answer, before anything is sent. @throws UsageError for a name that is no column */
export const checkColumns = (reply: TSchema, names: readonly string[]): void => {
  for (const [, property] of properties(reply))
    if (kindOf(property) === 'rows') chosenColumns(columnsOf(itemsOf(property)), names)
}

/** A table with as many columns as fit, or those that are named; the last line names the others. */
const table = (schema: TSchema, rows: readonly unknown[], width: number, names: readonly string[] | null): string => {
  const all = columnsOf(schema)
  const chosen = names && chosenColumns(all, names)
  if (rows.length === 0) return '(none)'
  const used = chosen ?? all.filter((path) => rows.some((row) => at(row, path) !== undefined))
  const cell = (text: string) => (width === Number.POSITIVE_INFINITY ? text : shorten(text))
  const columns = used.map((path) => [path.join('.'), ...rows.map((row) => cell(show(at(row, path))))])
  let room = chosen ? Number.POSITIVE_INFINITY : width + 2
  const fits = columns.findIndex((column) => {
    room -= Math.max(...column.map(({ length }) => length)) + 2
    return room < 0
  })
  const fitting = fits === -1 ? columns.length : Math.max(1, fits)
  const count = chosen ? columns.length : Math.min(mostColumns, fitting)
  const shown = columns.slice(0, count)
  const lines = align([...rows.keys(), rows.length].map((i) => shown.map((column) => column[i] ?? '')))
  const hidden = columns.slice(count).map(([name]) => name)
  return hidden.length === 0
    ? lines
    : `${lines}\n(not shown: ${hidden.join(', ')}; --columns NAMES shows some of them, --json all)`
}

const flatten = (value: Json, above: readonly string[] = []): string[][] =>
  Object.entries(value).flatMap(([name, one]) =>
    isObject(one) ? flatten(one, [...above, name]) : [[[...above, name].join('.'), show(one)]],
  )

/**
 * An answer for a person: lists as tables, the rest as names and values.
 * @param schema of the answer
 * @param width characters of a line; Infinity where nobody looks at a terminal
 * @param names columns of the tables; null for the first seven
 * @throws UsageError for a name that is no column
 */
export const format = (schema: TSchema, reply: Json, width: number, names: readonly string[] | null = null): string => {
  const { success: _, ...rest } = reply
  const entries = Object.entries(rest)
  const lists = properties(schema).filter(([name, property]) => kindOf(property) === 'rows' && name in rest)
  const others = entries.filter(([name]) => lists.every(([list]) => list !== name))
  const [only] = others
  const record = others.length === 1 && only && isObject(only[1]) ? only[1] : Object.fromEntries(others)
  const parts = [
    ...(others.length > 0 ? [align(flatten(record))] : []),
    ...lists.map(([name, property]) => {
      const rows = rest[name]
      return table(itemsOf(property), Array.isArray(rows) ? rows : [], width, names)
    }),
  ]
  return parts.length > 0 ? parts.join('\n\n') : 'done'
}
