import { UnreadableCsv } from '../../../platform/lib/csv.ts'
import { fullName } from '../../../platform/lib/full-name.ts'
import { decodeText, type TextFile } from '../../../platform/lib/text-encoding.ts'
import { contactFields, otherFields } from '../contact-fields.ts'
import type { Contact } from '../contact-presenter.ts'
import type { DetailRow, DetailType } from '../details.ts'
import { maxDetails, maxPropertyTypes } from '../limits.ts'
import { addIgnored, type FileNotes, type ReadOptions } from './contact-csv.ts'
import {
  emptyEntry,
  hasUnusedCompany,
  type ParsedEntry,
  parseEntry,
  type RawDetail,
  type RawEntry,
} from './import-entry.ts'
import { labelOf } from './labels.ts'
import { contentLines } from './vcard-lines.ts'

/** A content line of a vCard (RFC 6350, 3.3). Names are upper case, types lower case. */
type Property = {
  readonly group: string
  readonly name: string
  readonly parameters: ReadonlyMap<string, string>
  readonly types: readonly string[]
  readonly value: string
}

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

/** RFC 2045, 6.7. Each character is an octet. */
const fromQuotedPrintable = (octets: string): string =>
  octets.replace(/=([\dA-F]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))

const decoded = (octets: string, charset: string | undefined, other: string): string =>
  /^[ -~]*$/.test(octets) ? octets : decodeText(Buffer.from(octets, 'latin1'), charset, other)

/**
 * Parses a content line, of which each character is an octet.
 * @param encoding of the file, for text without an encoding of its own
 */
const propertyOf = (octets: string, encoding: string): Property | null => {
  const [head = '', coded] = splitOutside(octets, ':', 2)
  if (coded === undefined) return null
  const [grouped = '', ...rawParameters] = splitOutside(decoded(head, undefined, encoding), ';')
  const parameters = new Map<string, string>()
  const types: string[] = []
  for (const one of rawParameters) {
    const [first = '', rest] = splitOutside(one, '=', 2)
    // vCard 2.1 omits the name of some parameters.
    const isBare = rest === undefined
    const name = !isBare ? first.toUpperCase() : /^(?:quoted-printable|base64)$/i.test(first) ? 'ENCODING' : 'TYPE'
    // RFC 6868, 3.1.
    const value = (rest ?? first).replace(/^"|"$/g, '').replace(/\^[n'^]/g, decaret)
    if (name === 'TYPE') types.push(...value.toLowerCase().split(',', maxPropertyTypes))
    else parameters.set(name, value)
  }
  const isQuoted = /^quoted-printable$/i.test(parameters.get('ENCODING') ?? '')
  const isBase64 = /^(?:b|base64)$/i.test(parameters.get('ENCODING') ?? '')
  const bytes = isQuoted
    ? fromQuotedPrintable(coded)
    : isBase64
      ? Buffer.from(coded, 'base64').toString('latin1')
      : coded
  // Telephones that write vCard 2.1 without a label are of the time before UTF-8.
  const other = isQuoted && encoding === 'utf-8' ? 'windows-1252' : encoding
  const at = grouped.lastIndexOf('.')
  return {
    group: grouped.slice(0, Math.max(0, at)).toLowerCase(),
    name: grouped.slice(at + 1).toUpperCase(),
    parameters,
    types,
    value: decoded(bytes, parameters.get('CHARSET'), other),
  }
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

/** Types that say nothing about the place of a number or an address. */
const plainTypes = /^(?:voice|pref|internet|text|msg|video|dom|intl|postal|parcel|x-.*|)$/

/** Types of which a known label has another name. */
const typeLabels = new Map([
  ['cell', 'mobile'],
  ['iphone', 'mobile'],
])

const labelOfTypes = (types: readonly string[]): string | null => {
  const labels = types.filter((type) => !plainTypes.test(type)).map((type) => typeLabels.get(type) ?? type)
  return labels.length === 0 ? null : labelOf(labels.join(' '))
}

/** A card that is read: its entry, and the labels that groups give to their properties. */
type OpenCard = {
  readonly line: number
  readonly raw: RawEntry
  readonly labels: Map<string, string>
  readonly details: (RawDetail & { readonly group: string })[]
}

/** The number of a `tel` URI (RFC 3966), with its extension. */
const fromUri = (value: string): string => {
  if (!/^tel:/i.test(value)) return value
  const [number = '', ...parameters] = value.slice(4).split(';')
  return (
    number +
    parameters
      .filter((one) => /^ext=/i.test(one))
      .map((one) => `;${one}`)
      .join('')
  )
}

/** Properties about the card, not the person. */
const ofCard =
  /^(?:VERSION|PRODID|REV|UID|KIND|SOURCE|CLASS|SOUND|MAILER|CLIENTPIDMAP|X-(?:ABADR|ABUID|IRMC|IMAGE).*|BEGIN|END)$/

/** Reads one property into the card; unknown properties are noted. */
const readProperty = ({ raw, labels, details }: OpenCard, property: Property, line: number, notes: FileNotes): void => {
  const { group, name, parameters, types, value } = property
  const push = (type: DetailType, text: string) => {
    // One above the limit shows that there are more.
    if (text !== '' && details.length <= maxDetails)
      details.push({ type, text, label: labelOfTypes(types), line, group })
  }
  if (name === 'N') {
    const [last = '', first, additional] = components(value)
    raw.texts.last_name = last
    raw.texts.first_name = joined([first, additional], ' ')
  } else if (name === 'FN') raw.whole = unescaped(value) || raw.whole
  else if (name === 'ORG') raw.company ||= components(value)[0] ?? ''
  else if (name === 'X-ABLABEL') labels.set(group, unescaped(value))
  else if (name === 'TEL') push('PH', unescaped(fromUri(value)))
  else if (name === 'EMAIL') push('E', unescaped(value.replace(/^mailto:/i, '')))
  else if (name === 'ADR') push('A', joined(components(value), ', ') || (parameters.get('LABEL') ?? '').trim())
  else {
    const field = otherFields.find((one) => contactFields[one].vcard === name)
    // Embedded pictures are ignored; only addresses of pictures are stored.
    if (field && (contactFields[field].kind === 'text' || /^https?:\/\//i.test(value)))
      raw.texts[field] ||= unescaped(value)
    else if (!ofCard.test(name) && /[^;\s]/.test(value)) addIgnored(notes, name)
  }
}

const entryOf = ({ raw, details, labels }: OpenCard): RawEntry => ({
  ...raw,
  details: details.map(({ group, ...detail }) => ({
    ...detail,
    label: (group !== '' && labelOf(labels.get(group) ?? '')) || detail.label,
  })),
})

/**
 * Parses a file of vCards: 4.0 (RFC 6350), 3.0 (RFC 2426), and the 2.1 that telephones write.
 * @throws UnreadableCsv
 */
export async function* readVcards(
  file: TextFile,
  notes: FileNotes,
  { country }: ReadOptions = {},
): AsyncGenerator<ParsedEntry> {
  let open: OpenCard | null = null
  // Cards of agents within the open card (vCard 2.1), which are not contacts of their own.
  let agents = 0
  let [wasAgent, isOutside] = [false, false]
  for await (const { line, text } of contentLines(file.bytes)) {
    const bare = text.replace(/^\u00ef\u00bb\u00bf/, '').trim()
    if (bare === '') continue
    const isBegin = /^begin:vcard$/i.test(bare)
    const isEnd = /^end:vcard$/i.test(bare)
    const isAgent = wasAgent && isBegin
    wasAgent = /^(?:[\w-]+\.)?agent(?:;[^:]*)?:$/i.test(bare)
    if (isAgent) agents++
    else if (agents > 0 && !isBegin) agents -= isEnd ? 1 : 0
    else if (isBegin) {
      if (open) yield { line: open.line, read: `the card has no END:VCARD before line ${line}` }
      open = { line, raw: emptyEntry(), labels: new Map(), details: [] }
      agents = 0
      isOutside = false
    } else if (!open) {
      // Once for all lines up to the next card.
      if (!isOutside) yield { line, read: 'a card must begin here with BEGIN:VCARD' }
      isOutside = true
    } else if (isEnd) {
      const raw = entryOf(open)
      if (hasUnusedCompany(raw)) addIgnored(notes, 'ORG')
      yield parseEntry(open.line, raw, country)
      open = null
    } else {
      const property = propertyOf(text, file.bytesEncoding)
      if (property) readProperty(open, property, line, notes)
    }
  }
  // The beginning of a file, for a preview, may end here.
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

const cardTypes = new Map(
  Object.entries({
    mobile: 'cell',
    work: 'work',
    home: 'home',
    fax: 'fax',
    pager: 'pager',
  }),
)

const contentOf = ({ type, value, extension }: DetailRow): string => {
  if (type === 'E') return `:${escaped(value)}`
  if (type === 'A') return `:;;${escaped(value)};;;;`
  if (extension === null || /^;ext=\d+$/.test(extension)) return `;VALUE=uri:tel:${value}${extension ?? ''}`
  return `:${escaped(value + extension)}`
}

/** A detail in the order of the file; a label that has no type is that of a group, as Apple and Google write it. */
const propertiesOf = (detail: DetailRow, i: number): string[] => {
  const name = { E: 'EMAIL', A: 'ADR', PH: 'TEL', WAPH: 'TEL' }[detail.type]
  const { label } = detail
  if (label === null) return [name + contentOf(detail)]
  const types = label.split(' ').map((word) => cardTypes.get(word))
  return types.every((type) => type !== undefined)
    ? [`${name};TYPE=${types.join()}${contentOf(detail)}`]
    : [`item${i + 1}.${name}${contentOf(detail)}`, `item${i + 1}.X-ABLabel:${escaped(label)}`]
}

/** Formats a contact as a vCard 4.0. An address is a single text here, in the street component. */
export const formatVcard = (contact: Contact): string => {
  const { id, first_name, last_name, created_at, updated_at } = contact
  const revised = (updated_at ?? created_at).toISOString().replace(/[-:]|\.\d+/g, '')
  return [
    'BEGIN:VCARD',
    'VERSION:4.0',
    `UID:urn:uuid:${id}`,
    `FN:${escaped(fullName(contact))}`,
    `N:${escaped(last_name)};${escaped(first_name)};;;`,
    ...contact.details.flatMap(propertiesOf),
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
