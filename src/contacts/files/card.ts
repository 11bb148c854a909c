import type { Readable } from 'node:stream'
import type { CountryCode } from 'libphonenumber-js/max'
import { BrokenFile } from '../../lib/csv.ts'
import { mostDetails, partsOf } from '../details.ts'
import type { Contact } from '../shown.ts'
import { emptyRaw, type Raw, type Read, readEntry } from './entry.ts'
import { contentLines } from './lines.ts'

/** A content line of a vCard (RFC 6350, 3.3), without its group. Names are upper case. */
type Property = { readonly name: string; readonly parameters: ReadonlyMap<string, string>; readonly value: string }

/** Splits at a sign that stands outside of quotes. */
const splitOutside = (text: string, sign: string, most = Number.POSITIVE_INFINITY): string[] => {
  const parts: string[] = []
  let [from, isQuoted] = [0, false]
  for (let i = 0; i < text.length && parts.length < most - 1; i++) {
    if (text[i] === '"') isQuoted = !isQuoted
    else if (text[i] === sign && !isQuoted) {
      parts.push(text.slice(from, i))
      from = i + 1
    }
  }
  return [...parts, text.slice(from)]
}

/** RFC 2045, 6.7. */
const fromQuotedPrintable = (text: string, charset: string): string => {
  const bytes = Buffer.from(
    text.replace(/=([\dA-F]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  )
  return /^iso-8859-1$|^windows-1252$/i.test(charset) ? bytes.toString('latin1') : bytes.toString('utf8')
}

const propertyOf = (text: string): Property | null => {
  const [head = '', coded] = splitOutside(text, ':', 2)
  if (coded === undefined) return null
  const [grouped = '', ...given] = splitOutside(head, ';')
  const parameters = new Map<string, string>()
  for (const one of given) {
    const [name = '', value] = splitOutside(one, '=', 2)
    // vCard 2.1 leaves the name of some out.
    const isEncoding = value === undefined && /^quoted-printable$/i.test(name)
    if (isEncoding) parameters.set('ENCODING', name)
    // RFC 6868, 3.1.
    else parameters.set(name.toUpperCase(), (value ?? '').replace(/^"|"$/g, '').replace(/\^[n'^]/g, decaret))
  }
  const isQuoted = /^quoted-printable$/i.test(parameters.get('ENCODING') ?? '')
  const value = isQuoted ? fromQuotedPrintable(coded, parameters.get('CHARSET') ?? 'utf-8') : coded
  return { name: grouped.slice(grouped.lastIndexOf('.') + 1).toUpperCase(), parameters, value }
}

const decaret = (sign: string): string => (sign === '^n' ? '\n' : sign === "^'" ? '"' : '^')

/** RFC 6350, 3.4. */
const unescaped = (text: string): string =>
  text.replace(/\\([\s\S])/g, (_, sign: string) => (sign === 'n' || sign === 'N' ? '\n' : sign)).trim()

/** The components of a structured value. */
const components = (value: string): string[] =>
  (value.match(/(?:\\[\s\S]|[^;\\])+|;/g) ?? [])
    .reduce<string[]>(
      (parts, piece) => {
        if (piece === ';') parts.push('')
        else parts[parts.length - 1] += piece
        return parts
      },
      [''],
    )
    .map(unescaped)

const joined = (parts: readonly (string | undefined)[], between: string): string =>
  parts.filter((part) => part !== undefined && part !== '').join(between)

/** Beyond what a contact may have, one more tells that there are too many. */
const push = (list: string[], text: string): void => {
  if (text !== '' && list.length <= mostDetails) list.push(text)
}

/** Takes what a property says of a contact; all others say nothing that we keep. */
const takeProperty = (raw: Raw, { name, parameters, value }: Property): void => {
  if (name === 'N') {
    const [last = '', first, additional] = components(value)
    raw.last = last
    raw.first = joined([first, additional], ' ')
  } else if (name === 'FN') raw.whole = unescaped(value) || raw.whole
  else if (name === 'ORG') raw.whole ||= components(value)[0] ?? ''
  else if (name === 'TEL') push(raw.phones, unescaped(value.replace(/^tel:([^;]*).*$/is, '$1')))
  else if (name === 'EMAIL') push(raw.emails, unescaped(value.replace(/^mailto:/i, '')))
  else if (name === 'ADR')
    push(raw.addresses, joined(components(value), ', ') || (parameters.get('LABEL') ?? '').trim())
  // A picture within the card is not kept: only its address is.
  else if (name === 'PHOTO' && raw.picture === '' && /^https?:\/\//i.test(value)) raw.picture = unescaped(value)
}

/** Reads contacts of a file of vCards: 4.0 (RFC 6350), 3.0 (RFC 2426), and what telephones write of 2.1. @throws BrokenFile */
export async function* readCards(body: Readable, country?: CountryCode): AsyncGenerator<Read> {
  let open: { line: number; raw: Raw } | null = null
  for await (const { line, text } of contentLines(body)) {
    const bare = text.replace(/^\ufeff/, '').trim()
    if (bare === '') continue
    if (/^begin:vcard$/i.test(bare)) {
      if (open) throw new BrokenFile(line, `the card of line ${open.line} has no END:VCARD`)
      open = { line, raw: emptyRaw() }
    } else if (!open) throw new BrokenFile(line, 'a card must begin here, with BEGIN:VCARD')
    else if (/^end:vcard$/i.test(bare)) {
      yield { line: open.line, read: readEntry(open.raw, country) }
      open = null
    } else {
      const property = propertyOf(text)
      if (property) takeProperty(open.raw, property)
    }
  }
  if (open) throw new BrokenFile(open.line, 'the card has no END:VCARD')
}

const escaped = (text: string): string => text.replace(/[\\,;]/g, '\\$&').replace(/\r\n?|\n/g, '\\n')

/** Lines of at most 75 octets, cut between characters (RFC 6350, 3.2). */
const folded = (text: string): string => {
  const lines = ['']
  let room = 75
  for (const sign of text) {
    const size = Buffer.byteLength(sign)
    if (size > room) {
      lines.push(' ')
      room = 74
    }
    lines[lines.length - 1] += sign
    room -= size
  }
  return `${lines.join('\r\n')}\r\n`
}

/** A contact as a vCard 4.0. An address is one text here, and stands where the street does. */
export const cardOf = (contact: Contact): string => {
  const { phones, emails, addresses } = partsOf(contact.details)
  const { id, first_name, last_name, profile_pic_url, created_at, updated_at } = contact
  const revised = (updated_at ?? created_at).toISOString().replace(/[-:]|\.\d+/g, '')
  return [
    'BEGIN:VCARD',
    'VERSION:4.0',
    `UID:urn:uuid:${id}`,
    `FN:${escaped(`${first_name} ${last_name}`.trim())}`,
    `N:${escaped(last_name)};${escaped(first_name)};;;`,
    ...phones.map((number) => `TEL;VALUE=uri:tel:${number}`),
    ...emails.map((email) => `EMAIL:${escaped(email)}`),
    ...addresses.map((address) => `ADR:;;${escaped(address)};;;;`),
    ...(profile_pic_url ? [`PHOTO:${profile_pic_url}`] : []),
    `REV:${revised}`,
    'END:VCARD',
  ]
    .map(folded)
    .join('')
}
