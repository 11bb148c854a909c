import { nearest } from '../lib/nearest.ts'
import { UsageError } from './args.ts'
import { type Field, isDocument, isNullable, itemsOf, keywords, kindOf, present } from './field.ts'

/** Reads a file, or the standard input for `-`. */
export type Read = (path: string) => string

type Schema = Field['schema']

/** @throws UsageError that names the option */
export const parseJson = (text: string, what: string): unknown => {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new UsageError(`${what} is no JSON: ${error instanceof Error ? error.message : error}`)
  }
}

const integer = (text: string): number | null => (/^-?\d{1,15}$/.test(text) ? Number(text) : null)

const decimal = (text: string): number | null => (/^-?\d+(\.\d+)?$/.test(text) ? Number(text) : null)

const boolean = (text: string): boolean | null => (text === 'true' ? true : text === 'false' ? false : null)

const wanted = (found: unknown, option: string, what: string, text: string): unknown => {
  if (found === null) throw new UsageError(`--${option} wants ${what}, not "${text}"`)
  return found
}

const word = (schema: Schema, option: string, text: string): string => {
  const known = keywords(schema).enum
  if (!Array.isArray(known) || known.includes(text)) return text
  const all = known.map(String)
  throw new UsageError(`--${option} wants one of ${all.join(', ')}, not "${text}"; did you mean ${nearest(text, all)}?`)
}

const single = (schema: Schema, option: string, text: string, read: Read): unknown => {
  if (text === 'null' && isNullable(schema)) return null
  const plain = present(schema)
  switch (kindOf(plain)) {
    case 'integer':
      return wanted(integer(text), option, 'a whole number', text)
    case 'number':
      return wanted(decimal(text), option, 'a number', text)
    case 'boolean':
      return wanted(boolean(text), option, 'true or false', text)
    case 'object':
    case 'rows':
      return parseJson(text.startsWith('@') ? read(text.slice(1)) : text, `--${option}`)
    default:
      return isDocument(plain) && text.startsWith('@') ? read(text.slice(1)) : word(plain, option, text)
  }
}

/**
 * The value of a field from what was typed: several texts, or one with commas, for a list.
 * @throws UsageError that names the option and what it wants
 */
export const readValue = ({ schema, kind, option }: Field, texts: readonly string[], read: Read): unknown => {
  if (kind === 'list') {
    const parts = texts.flatMap((text) => text.split(',')).map((text) => text.trim())
    return parts.filter((text) => text !== '').map((text) => single(itemsOf(schema), option, text, read))
  }
  const [text = '', second] = texts
  if (second !== undefined) throw new UsageError(`--${option} is given twice`)
  return single(schema, option, text, read)
}
