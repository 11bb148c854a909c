/** A template literal of a source text. */
export type Template = {
  readonly line: number
  /** Whether a function receives the values apart from the text. */
  readonly isTagged: boolean
  /** The texts between the values. */
  readonly texts: readonly string[]
  /** The source of each value. */
  readonly values: readonly string[]
}

/** Characters after which a slash begins a regular expression. */
const beforePattern = /(?:^|[(,=:[!&|?{};+\-*%~^<>]|\b(?:return|typeof|case|of|in))\s*$/

/** Returns the index behind a literal that ends with one of its delimiters. */
const endOf = (source: string, from: number, delimiter: string): number => {
  let isClass = false
  for (let at = from; at < source.length; at++) {
    const char = source[at]
    if (char === '\\') at++
    else if (delimiter === '/' && char === '[') isClass = true
    else if (delimiter === '/' && char === ']') isClass = false
    else if (char === '\n' || (char === delimiter && !isClass)) return at + 1
  }
  return source.length
}

/** Finds the template literals of a source of TypeScript, also those inside others. */
export const templatesOf = (source: string): Template[] => {
  const found: Template[] = []
  /** Reads code until an unmatched closing brace. */
  const readCode = (from: number): number => {
    let depth = 0
    for (let at = from; at < source.length; at++) {
      const char = source[at] ?? ''
      if (char === '}' && depth-- === 0) return at
      if (char === '{') depth++
      else if (char === "'" || char === '"') at = endOf(source, at + 1, char) - 1
      else if (source.startsWith('//', at)) at = source.indexOf('\n', at)
      else if (source.startsWith('/*', at)) at = source.indexOf('*/', at) + 1
      else if (char === '/' && beforePattern.test(source.slice(Math.max(0, at - 40), at)))
        at = endOf(source, at + 1, '/') - 1
      else if (char === '`') at = readTemplate(at) - 1
      if (at < from) break
    }
    return source.length
  }
  const readTemplate = (from: number): number => {
    const [texts, values]: [string[], string[]] = [[], []]
    let begin = from + 1
    let at = begin
    for (; at < source.length && source[at] !== '`'; at++) {
      if (source[at] === '\\') at++
      else if (source.startsWith('${', at)) {
        texts.push(source.slice(begin, at))
        const end = readCode(at + 2)
        values.push(source.slice(at + 2, end))
        begin = end + 1
        at = end
      }
    }
    texts.push(source.slice(begin, at))
    const line = source.slice(0, from).split('\n').length
    found.push({ line, isTagged: /[\w>)\]]/.test(source[from - 1] ?? ''), texts, values })
    return at + 1
  }
  readCode(0)
  return found
}
