import type { Readable } from 'node:stream'
import type { CountryCode } from 'libphonenumber-js/max'
import { UnreadableCsv } from '../../../platform/lib/csv.ts'
import { contactFields, otherFields } from '../contact-fields.ts'
import type { Contact } from '../contact-presenter.ts'
import { searchValuesOf } from '../details.ts'
import { maxDetails } from '../limits.ts'
import { emptyEntry, type ParsedEntry, parseEntry, type RawEntry } from './import-entry.ts'
import { contentLines } from './vcard-lines.ts'

/** A content line of a vCard (RFC 6350, 3.3), without its group. Names are upper case. */
type Property = { readonly name: string; readonly parameters: ReadonlyMap<string, string>; readonly value: string }

/** Splits at a separator outside quotes. */
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
  const [grouped = '', ...rawParameters] = splitOutside(head, ';')
  const parameters = new Map<string, string>()
  for (const one of rawParameters) {
    const [name = '', value] = splitOutside(one, '=', 2)
    // vCard 2.1 omits the name of some parameters.
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

/** Stops one above the limit of details: that suffices to report too many. */
const push = (list: string[], text: string): void => {
  if (text !== '' && list.length <= maxDetails) list.push(text)
}

/** Reads one property into the contact; unknown properties are ignored. */
const readProperty = (raw: RawEntry, { name, parameters, value }: Property): void => {
  if (name === 'N') {
    const [last = '', first, additional] = components(value)
    raw.texts.last_name = last
    raw.texts.first_name = joined([first, additional], ' ')
  } else if (name === 'FN') raw.whole = unescaped(value) || raw.whole
  else if (name === 'ORG') raw.whole ||= components(value)[0] ?? ''
  else if (name === 'TEL') push(raw.phones, unescaped(value.replace(/^tel:([^;]*).*$/is, '$1')))
  else if (name === 'EMAIL') push(raw.emails, unescaped(value.replace(/^mailto:/i, '')))
  else if (name === 'ADR')
    push(raw.addresses, joined(components(value), ', ') || (parameters.get('LABEL') ?? '').trim())
  else {
    const field = otherFields.find((one) => contactFields[one].vcard === name)
    // Embedded pictures are ignored; only addresses of pictures are stored.
    if (field && (contactFields[field].kind === 'text' || /^https?:\/\//i.test(value)))
      raw.texts[field] ||= unescaped(value)
  }
}

/**
 * Parses a file of vCards: 4.0 (RFC 6350), 3.0 (RFC 2426), and the 2.1 that telephones write.
 * @throws BrokenFile
 */
export async function* readVcards(body: Readable, country?: CountryCode): AsyncGenerator<ParsedEntry> {
  let open: { line: number; raw: RawEntry } | null = null
  for await (const { line, text } of contentLines(body)) {
    const bare = text.replace(/^\ufeff/, '').trim()
    if (bare === '') continue
    if (/^begin:vcard$/i.test(bare)) {
      if (open) throw new UnreadableCsv(line, `the card that begins at line ${open.line} has no END:VCARD`)
      open = { line, raw: emptyEntry() }
    } else if (!open) throw new UnreadableCsv(line, 'a card must begin here with BEGIN:VCARD')
    else if (/^end:vcard$/i.test(bare)) {
      yield { line: open.line, read: parseEntry(open.raw, country) }
      open = null
    } else {
      const property = propertyOf(text)
      if (property) readProperty(open.raw, property)
    }
  }
  if (open) throw new UnreadableCsv(open.line, 'the card has no END:VCARD')
}

const escaped = (text: string): string => text.replace(/[\\,;]/g, '\\$&').replace(/\r\n?|\n/g, '\\n')

/** Folds into lines of at most 75 octets, between characters (RFC 6350, 3.2). */
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

/** Formats a contact as a vCard 4.0. An address is a single text here, in the street component. */
export const formatVcard = (contact: Contact): string => {
  const { phones, emails, addresses } = searchValuesOf(contact.details)
  const { id, first_name, last_name, created_at, updated_at } = contact
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
    ...otherFields.flatMap((name) => {
      const { kind, vcard } = contactFields[name]
      const value = contact[name]
      return value ? `${vcard}:${kind === 'url' ? value : escaped(value)}` : []
    }),
    `REV:${revised}`,
    'END:VCARD',
  ]
    .map(folded)
    .join('')
}
