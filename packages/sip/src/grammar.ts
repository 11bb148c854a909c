import { SipError } from './message.ts'

/** The elements of headers (RFC 3261, 25.1). */

const token = /^[\w.!%*+`'~-]+$/

export const isToken = (text: string): boolean => token.test(text)

/** Names are in lower case. The value of a flag is null. Quotes and escapes are removed from values. */
export type Params = ReadonlyMap<string, string | null>

export const noParams: Params = new Map()

/**
 * Splits at a separator outside quotes and, for lists of addresses, outside `<>`.
 * @throws SipError when a quote or bracket is not closed
 */
export const split = (text: string, separator: ',' | ';', brackets = true): string[] => {
  const parts: string[] = []
  let start = 0
  let quoted = false
  let bracketed = false
  for (let i = 0; i < text.length; i++) {
    const letter = text[i]
    if (quoted) {
      if (letter === '\\') i++
      else if (letter === '"') quoted = false
    } else if (letter === '"' && !bracketed) quoted = true
    else if (brackets && letter === '<') bracketed = true
    else if (letter === '>') bracketed = false
    else if (letter === separator && !bracketed) {
      parts.push(text.slice(start, i).trim())
      start = i + 1
    }
  }
  if (quoted) throw new SipError('a quoted string is not closed')
  if (bracketed) throw new SipError('an address in <> is not closed')
  parts.push(text.slice(start).trim())
  return parts
}

/** Removes quotes and their escapes from a quoted text. @throws SipError when the quotes are not balanced */
export const unquote = (text: string): string => {
  if (!text.startsWith('"')) return text
  if (!/^"(?:[^"\\]|\\.)*"$/s.test(text)) throw new SipError('a quoted string is not closed')
  return text.slice(1, -1).replace(/\\(.)/gs, '$1')
}

export const quote = (text: string): string => `"${text.replace(/["\\]/g, '\\$&')}"`

const param = /^([^\s="<>@,;]+)(?:\s*=\s*(.*))?$/s

/** Parameters after a value, `;name=value;flag`, given as the parts between the semicolons. @throws SipError */
export const readParams = (parts: readonly string[]): Params => {
  if (parts.length === 0) return noParams
  const found = new Map<string, string | null>()
  for (const part of parts) {
    const [, name, value = null] = param.exec(part) ?? []
    if (name === undefined || value === '') throw new SipError(`"${part.slice(0, 40)}" is not a parameter`)
    const key = name.toLowerCase()
    // With two tags or branches the meaning would be a guess (7.3.1: at most once).
    if (found.has(key)) throw new SipError(`the parameter ${key} is given twice`)
    found.set(key, value === null ? null : unquote(value))
  }
  return found
}

const plain = /^[\w.!%*+`'~:[\]-]+$/

export const printParams = (params: Params): string => {
  let text = ''
  for (const [name, value] of params) {
    text += value === null ? `;${name}` : `;${name}=${plain.test(value) ? value : quote(value)}`
  }
  return text
}

/** Reads digits as a number from 0 to `most`. @throws SipError */
export const readNumber = (text: string, most: number, what: string): number => {
  const number = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (!(number <= most)) throw new SipError(`${what} is not a number from 0 to ${most}`)
  return number
}
