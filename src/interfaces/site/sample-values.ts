/** How a language writes a value. */
type Notation = {
  readonly indent: number
  /** Longest value in one line, characters. */
  readonly width: number
  readonly text: (text: string) => string
  readonly absent: string
  readonly yes: string
  readonly no: string
  readonly list: readonly [open: string, close: string]
  readonly map: readonly [open: string, close: string]
  /** An empty object. */
  readonly emptyMap: string
  readonly key: (name: string) => string
  /** Blanks within the brackets of an object of one line. */
  readonly isSpaced: boolean
  readonly endsWithComma: boolean
}

/** An expression of the language within a value. */
class Code {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

const singleQuoted = (text: string): string =>
  `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n').replaceAll('\r', '\\r')}'`

const common = {
  width: 64,
  absent: 'null',
  yes: 'true',
  no: 'false',
  list: ['[', ']'],
  map: ['{', '}'],
  emptyMap: '{}',
  isSpaced: false,
} as const

/** PHP reads escapes of line ends in double quotes only. */
const phpText = (text: string): string =>
  /[\n\r\t]/.test(text)
    ? `"${text
        .replace(/[\\"$]/g, '\\$&')
        .replaceAll('\n', '\\n')
        .replaceAll('\r', '\\r')
        .replaceAll('\t', '\\t')}"`
    : `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

const JSONNotation: Notation = {
  ...common,
  indent: 2,
  text: (text) => JSON.stringify(text),
  key: (name) => `${JSON.stringify(name)}: `,
  endsWithComma: false,
}

export const notations = {
  JSON: JSONNotation,
  TypeScript: {
    ...common,
    indent: 2,
    text: singleQuoted,
    key: (name) => (/^[a-zA-Z_]\w*$/.test(name) ? `${name}: ` : `${singleQuoted(name)}: `),
    isSpaced: true,
    endsWithComma: true,
  } satisfies Notation,
  Python: {
    ...common,
    indent: 4,
    text: (text) => JSON.stringify(text),
    absent: 'None',
    yes: 'True',
    no: 'False',
    key: (name) => `${JSON.stringify(name)}: `,
    endsWithComma: true,
  } satisfies Notation,
  PHP: {
    ...common,
    indent: 4,
    text: phpText,
    map: ['[', ']'],
    emptyMap: '(object) []',
    key: (name) => `${phpText(name)} => `,
    endsWithComma: true,
  } satisfies Notation,
  code: (text: string): Code => new Code(text),
} as const

const inLines = (parts: readonly string[], [open, close]: readonly [string, string], depth: number, how: Notation) => {
  const blank = ' '.repeat(how.indent * (depth + 1))
  const lines = parts.map((part) => blank + part).join(',\n')
  return `${open}\n${lines}${how.endsWithComma ? ',' : ''}\n${' '.repeat(how.indent * depth)}${close}`
}

const scalar = (value: unknown, how: Notation): string | null => {
  if (value instanceof Code) return value.text
  if (value === null || value === undefined) return how.absent
  if (typeof value === 'string') return how.text(value)
  if (typeof value === 'boolean') return value ? how.yes : how.no
  return typeof value === 'object' ? null : String(value)
}

/**
 * Writes a value in the notation of a language, on one line if it is short.
 * @param depth of the line that it begins on, in steps of indentation
 */
export const writeValue = (value: unknown, how: Notation, depth = 0): string => {
  const plain = scalar(value, how)
  if (plain !== null) return plain
  const isList = Array.isArray(value)
  const brackets = isList ? how.list : how.map
  const partsAt = (inner: number): string[] =>
    isList
      ? value.map((one) => writeValue(one, how, inner))
      : Object.entries(Object(value)).map(([name, one]) => how.key(name) + writeValue(one, how, inner))
  const parts = partsAt(depth + 1)
  if (parts.length === 0) return isList ? brackets.join('') : how.emptyMap
  const blank = how.isSpaced && !isList ? ' ' : ''
  const line = `${brackets[0]}${blank}${parts.join(', ')}${blank}${brackets[1]}`
  const fits = line.length <= how.width && !line.includes('\n')
  return fits ? line : inLines(parts, brackets, depth, how)
}
