import { suggestion } from '../../../platform/lib/levenshtein.ts'
import { isLongText, isNullable, itemsOf, keywords, kindOf, type OptionField, withoutNull } from './option-field.ts'
import { UsageError } from './parse-arguments.ts'

/** Reads a file, or the standard input for `-`. */
export type ReadFile = (path: string) => string

type Schema = OptionField['schema']

/** @throws UsageError that names the option */
export const parseJson = (text: string, what: string): unknown => {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new UsageError(`${what} is not JSON: ${error instanceof Error ? error.message : error}`)
  }
}

const integer = (text: string): number | null => (/^-?\d{1,15}$/.test(text) ? Number(text) : null)

const decimal = (text: string): number | null => (/^-?\d+(\.\d+)?$/.test(text) ? Number(text) : null)

const boolean = (text: string): boolean | null => (text === 'true' ? true : text === 'false' ? false : null)

const requireValue = (found: unknown, option: string, what: string, text: string): unknown => {
  if (found === null) throw new UsageError(`--${option} must be ${what}, not "${text}"`)
  return found
}

const readWord = (schema: Schema, option: string, text: string): string => {
  const known = keywords(schema).enum
  if (!Array.isArray(known) || known.includes(text)) return text
  const all = known.map(String)
  throw new UsageError(`--${option} must be one of ${all.join(', ')}, not "${text}"${suggestion(text, all)}`)
}

const readSingle = (schema: Schema, option: string, text: string, read: ReadFile): unknown => {
  if (text === 'null' && isNullable(schema)) return null
  const plain = withoutNull(schema)
  switch (kindOf(plain)) {
    case 'integer':
      return requireValue(integer(text), option, 'a whole number', text)
    case 'number':
      return requireValue(decimal(text), option, 'a number', text)
    case 'boolean':
      return requireValue(boolean(text), option, 'true or false', text)
    case 'object':
    case 'rows':
      return parseJson(text.startsWith('@') ? read(text.slice(1)) : text, `--${option}`)
    default:
      return isLongText(plain) && text.startsWith('@') ? read(text.slice(1)) : readWord(plain, option, text)
  }
}

/**
 * Converts the typed values of a field: several values, or one with commas, for a list.
 * @throws UsageError that names the option and the expected values
 */
export const readValue = ({ schema, kind, option }: OptionField, texts: readonly string[], read: ReadFile): unknown => {
  if (kind === 'list') {
    const parts = texts.flatMap((text) => text.split(',')).map((text) => text.trim())
    return parts.filter((text) => text !== '').map((text) => readSingle(itemsOf(schema), option, text, read))
  }
  const [text = '', second] = texts
  if (second !== undefined) throw new UsageError(`--${option} is given twice`)
  return readSingle(schema, option, text, read)
}
