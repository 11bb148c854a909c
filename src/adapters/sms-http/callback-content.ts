import { createHmac, timingSafeEqual } from 'node:crypto'
import type { CallbackReply } from '../../ports/callback.ts'
import type { InboundMedia, PartCallback, SmsCallback, SmsInbound } from '../../ports/sms.ts'
import { maxInboundMedia } from './limits.ts'

/** The name of a token in the query of a callback address. */
const tokenName = 'm'

export const unauthorized: CallbackReply = { status: 401, body: '' }
export const taken: CallbackReply = { status: 200, body: '' }
export const malformed = (what: string): CallbackReply => ({ status: 400, body: what })

/** Returns the address that a provider reports on a part to; null without a callback. */
export const receiptUrl = (callback: PartCallback | undefined): string | null =>
  callback ? `${callback.url}?${tokenName}=${callback.token}` : null

/** Returns the token of the called address. */
export const tokenOf = ({ query }: SmsCallback): string | undefined => query[tokenName]

/** Compares secrets in constant time. */
export const isEqual = (one: string, other: string): boolean => {
  // MACs of equal length: the comparison shows nothing of the length of the secret.
  const [a, b] = [one, other].map((text) => createHmac('sha256', 'compare').update(text).digest())
  return a !== undefined && b !== undefined && timingSafeEqual(a, b)
}

/** Returns whether the header Authorization has these credentials (RFC 7617). */
export const hasBasic = ({ headers }: SmsCallback, username: string, password: string): boolean =>
  isEqual(headers.authorization ?? '', basic(username, password))

/** Returns the value of the header Authorization for credentials. */
export const basic = (username: string, password: string): string =>
  `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`

/** Returns the fields of a form, or of the query of a GET request: the first of each name. */
export const fieldsOf = ({ method, query, raw }: SmsCallback): Readonly<Record<string, string>> => {
  const fields = new Map(Object.entries(query))
  if (method === 'POST')
    for (const [name, value] of [...new URLSearchParams(raw.toString('utf8'))].reverse()) fields.set(name, value)
  return Object.fromEntries(fields)
}

/** Keeps the digits of integers that a number cannot hold: ids of some providers have 64 bits. */
const keepDigits = (_name: string, value: unknown, ...[context]: readonly { readonly source?: string }[]): unknown =>
  typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER ? (context?.source ?? value) : value

/** Parses JSON; undefined if it is none. Integers of more than 53 bits are texts. */
export const parseJson = (text: string): unknown => {
  try {
    // Few texts have such integers, and the function is called for each value.
    return /[0-9]{16}/.test(text) ? JSON.parse(text, keepDigits) : JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Returns the value at a JSON pointer (RFC 6901); undefined without one. */
export const at = (value: unknown, pointer: string): unknown => {
  let current = value
  for (const step of pointer.split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, name)) return undefined
    // The type has no fields; the object has this one.
    current = (current as Readonly<Record<string, unknown>>)[name]
  }
  return current
}

/** Returns the elements of the list at a JSON pointer; none without one. */
export const listAt = (value: unknown, pointer: string): readonly unknown[] => {
  const found = at(value, pointer)
  return Array.isArray(found) ? found : []
}

/** Returns the text or number at a JSON pointer as text; empty without one. */
export const textAt = (value: unknown, pointer: string): string => {
  const found = at(value, pointer)
  return typeof found === 'string' || typeof found === 'number' ? String(found) : ''
}

/** Returns a number in E.164 with `+`, if it is digits; else unchanged, such as a name. */
export const withPlus = (number: string): string => (/^[1-9][0-9]{6,14}$/.test(number) ? `+${number}` : number)

/** Returns a base address without slashes at its end. */
export const baseOf = (given: string | undefined, usual: string): string => (given ?? usual).replace(/\/+$/, '')

/** Whether an address is of the same origin as a base address. */
export const isOfOrigin = (url: string, base: string): boolean =>
  URL.canParse(url) && URL.canParse(base) && new URL(url).origin === new URL(base).origin

/** Returns the field of the files of an inbound message: those with a web address. The layout of an MMS (SMIL) is none. */
export const mediaField = (files: readonly InboundMedia[]): { media?: readonly InboundMedia[] } => {
  const media = files.filter(({ url, mimeType = '' }) => {
    if (!/^https?:\/\//.test(url) || !URL.canParse(url)) return false
    return !mimeType.startsWith('application/smil') && !new URL(url).pathname.endsWith('.smil')
  })
  return media.length === 0 ? {} : { media: media.slice(0, maxInboundMedia) }
}

/** Returns a number without `+`. */
export const digits = (number: string): string => number.replace(/^\+/, '')

/** Returns the place of a part in a long message by its fields, which are integers; null for a whole message. */
export const concatOf = (...fields: readonly (string | undefined)[]): SmsInbound['concat'] => {
  const [reference, part, parts] = fields.map((text) => (/^[0-9]{1,15}$/.test(text ?? '') ? Number(text) : null))
  if (reference == null || !part || !parts) return null
  return parts > 1 && parts <= 255 && part <= parts ? { reference, part, parts } : null
}
