import type { TSchema } from 'typebox'
import { properties } from '../../../platform/http/openapi.ts'
import { closestWord, suggestion } from '../../../platform/lib/levenshtein.ts'
import { itemsOf, keywords, kindOf, withoutNull } from '../input/option-field.ts'
import { UsageError } from '../input/parse-arguments.ts'
import { defaultColumns, maxCellLength } from '../limits.ts'

type Json = Record<string, unknown>

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns a value as text. Control characters are escaped: values contain foreign data. */
export const displayText = (value: unknown): string => {
  if (value === undefined || value === null) return ''
  if (Array.isArray(value)) return value.map(displayText).join(',')
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  return text.replace(/\p{Cc}/gu, (control) => `\\x${control.charCodeAt(0).toString(16).padStart(2, '0')}`)
}

/** Returns the value of a column in a row. */
export const valueAt = (row: unknown, [name, ...rest]: readonly string[]): unknown =>
  name === undefined
    ? row
    : Array.isArray(row)
      ? row.map((one) => valueAt(one, [name, ...rest]))
      : isObject(row)
        ? valueAt(row[name], rest)
        : undefined

const isTime = (schema: TSchema) => keywords(schema).format === 'date-time'

/**
 * Returns table columns: those that the schema names, else plain values, then objects, then times.
 * @param isWhole ignores the columns that the schema names
 */
const columnsOf = (schema: TSchema, isWhole = false): string[][] => {
  const named = keywords(schema)['x-columns']
  if (Array.isArray(named) && !isWhole) return named.map((path) => String(path).split('.'))
  const all = properties(withoutNull(schema))
  const plain = all.filter(([, property]) => kindOf(property) !== 'object' && kindOf(property) !== 'rows')
  const names = (found: [string, TSchema][]) => found.map(([name]) => [name])
  const objects = all.filter(([, property]) => kindOf(property) === 'object')
  return [
    ...names(plain.filter(([, property]) => !isTime(property))),
    ...objects.flatMap(([name, property]) => columnsOf(property, isWhole).map((path) => [name, ...path])),
    ...names(plain.filter(([, property]) => isTime(property))),
  ]
}

/** Returns every column, those of the table first. */
export const allColumns = (schema: TSchema): string[][] => {
  const shown = columnsOf(schema)
  const known = new Set(shown.map(String))
  return [...shown, ...columnsOf(schema, true).filter((path) => !known.has(String(path)))]
}

const truncate = (text: string) => (text.length > maxCellLength ? `${text.slice(0, maxCellLength - 1)}…` : text)

/** Aligns columns to their widest cell. */
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

/** @throws UsageError for an unknown column */
export const chosenColumns = (all: readonly string[][], names: readonly string[]): string[][] =>
  names.map((name) => {
    const known = all.map((path) => path.join('.'))
    const path = all.find((one) => one.join('.') === name)
    if (path) return path
    throw new UsageError(
      `there is no column "${name}"${suggestion(name, known)}${closestWord(name, known) ? ' ' : '; '}The columns are ${known.join(', ')}`,
    )
  })

/**
 * Validates named columns against the lists of a reply, before the request.
 * @throws UsageError for an unknown column
 */
export const checkColumns = (reply: TSchema, names: readonly string[]): void => {
  for (const [, property] of properties(reply))
    if (kindOf(property) === 'rows') chosenColumns(allColumns(itemsOf(property)), names)
}

/** Formats a table with as many columns as fit, or the named ones; the last line lists the others. */
const formatTable = (
  schema: TSchema,
  rows: readonly unknown[],
  width: number,
  names: readonly string[] | null,
): string => {
  const all = columnsOf(schema)
  const chosen = names && chosenColumns(allColumns(schema), names)
  if (rows.length === 0) return '(none)'
  const used = chosen ?? all.filter((path) => rows.some((row) => valueAt(row, path) !== undefined))
  const cell = (text: string) => (width === Number.POSITIVE_INFINITY ? text : truncate(text))
  const columns = used.map((path) => [path.join('.'), ...rows.map((row) => cell(displayText(valueAt(row, path))))])
  let room = chosen ? Number.POSITIVE_INFINITY : width + 2
  const fits = columns.findIndex((column) => {
    room -= Math.max(...column.map(({ length }) => length)) + 2
    return room < 0
  })
  const fitting = fits === -1 ? columns.length : Math.max(1, fits)
  const count = chosen ? columns.length : Math.min(defaultColumns, fitting)
  const shown = columns.slice(0, count)
  const lines = align([...rows.keys(), rows.length].map((i) => shown.map((column) => column[i] ?? '')))
  const hidden = columns.slice(count).map(([name]) => name)
  return hidden.length === 0
    ? lines
    : `${lines}\n(not shown: ${hidden.join(', ')}; --columns NAMES shows some of them, --json all)`
}

const flatten = (value: Json, above: readonly string[] = []): string[][] =>
  Object.entries(value).flatMap(([name, one]) =>
    isObject(one) ? flatten(one, [...above, name]) : [[[...above, name].join('.'), displayText(one)]],
  )

/** Replaces null by the default in force, marked: the reply carries the defaults next to the object. */
const withDefaults = (schema: TSchema, reply: Json): Json => {
  const filled = { ...reply }
  for (const [name, property] of properties(schema)) {
    const of = keywords(property)['x-defaults-of']
    const [values, defaults] = [filled[String(of)], filled[name]]
    if (of === undefined || !isObject(values) || !isObject(defaults)) continue
    delete filled[name]
    filled[String(of)] = Object.fromEntries(
      Object.entries(values).map(([field, value]) => [field, value ?? `${displayText(defaults[field])} (default)`]),
    )
  }
  return filled
}

/** Returns a reply without its counts if the whole list is shown. */
const withoutCounts = (reply: Json): Json => {
  const { count, page, total, ...rest } = reply
  return page === 0 && total !== undefined && count === total ? rest : reply
}

/**
 * Formats a reply for a person: lists as tables, the rest as names and values.
 * @param schema of the reply
 * @param width characters of a line; Infinity without a terminal
 * @param names columns of the tables; null for the first seven
 * @throws UsageError for an unknown column
 */
export const formatReply = (
  schema: TSchema,
  reply: Json,
  width: number,
  names: readonly string[] | null = null,
): string => {
  const { success: _, ...answered } = reply
  const rest = withoutCounts(withDefaults(schema, answered))
  const entries = Object.entries(rest)
  const lists = properties(schema).filter(([name, property]) => kindOf(property) === 'rows' && name in rest)
  const others = entries.filter(([name]) => lists.every(([list]) => list !== name))
  const [only] = others
  const record = others.length === 1 && only && isObject(only[1]) ? only[1] : Object.fromEntries(others)
  const parts = [
    ...(others.length > 0 ? [align(flatten(record))] : []),
    ...lists.map(([name, property]) => {
      const rows = rest[name]
      return formatTable(itemsOf(property), Array.isArray(rows) ? rows : [], width, names)
    }),
  ]
  return parts.length > 0 ? parts.join('\n\n') : 'done'
}
