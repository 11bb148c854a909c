import { splitExtension } from '@trunkline/phone/extension.ts'
import type { CountryCode } from 'libphonenumber-js/max'
import { webAddress } from '../../../platform/http/schema.ts'
import type { ImportError } from '../../../platform/lib/import-errors.ts'
import { isStorable } from '../../../platform/lib/storable.ts'
import { contactFields, type FieldName, fieldNames, mapFields } from '../contact-fields.ts'
import { type Detail, type DetailFault, type DetailType, readDetail, unique } from '../details.ts'
import { maxDetails, maxExtensionLength, maxFieldLengths } from '../limits.ts'
import type { Draft } from '../ops.ts'

/** A detail of an entry, not validated. */
export type RawDetail = {
  readonly type: DetailType
  readonly text: string
  readonly label: string | null
  /** Line of the file. */
  readonly line: number
}

/** Contents of one line or card, not validated. Its details may end one above the limit. */
export type RawEntry = {
  texts: { [N in FieldName]?: string }
  /** Full name: used when there is no first name. */
  whole: string
  /** Used when there is no name. */
  company: string
  readonly details: RawDetail[]
}

export const emptyEntry = (): RawEntry => ({ texts: {}, whole: '', company: '', details: [] })

/**
 * A parsed entry: a contact, or its errors as text. `line` is its first line. The contact is without the details that
 * `left` explains.
 */
export type ParsedEntry = {
  readonly line: number
  readonly read: Draft | string
  readonly left?: readonly ImportError[]
}

/** True if the entry has a company that is not its name: contacts have no field for it. */
export const hasUnusedCompany = ({ texts: { first_name, last_name }, whole, company }: RawEntry): boolean =>
  company !== '' && Boolean(first_name || last_name || whole)

/** Derives a first name if there is none: the last name, else the first word of the full name. */
const namesOf = ({ texts: { first_name, last_name = '' }, whole, company }: RawEntry) => {
  if (first_name) return { first_name, last_name }
  if (last_name !== '') return { first_name: last_name, last_name: '' }
  const [head = '', ...rest] = (whole || company).split(/\s+/)
  return { first_name: head, last_name: rest.join(' ') }
}

const faultTexts: Readonly<Record<DetailFault, (text: string) => string>> = {
  phone: (text) => `"${text}" is not a phone number in E.164 format, such as +447700900123`,
  email: (text) => `"${text}" is not an e-mail address`,
  empty: () => 'a detail is empty',
}

const isWebAddress = new RegExp(webAddress)

const fieldFault = (name: FieldName, text: string): string | null => {
  const { kind, maxLength } = contactFields[name]
  const isLong = text.length > maxLength
  if (kind === 'url') return isLong || (text !== '' && !isWebAddress.test(text)) ? `${name} is not a web address` : null
  return isLong ? `${name} is longer than ${maxLength} characters` : null
}

const isText = (text: string): boolean => !text.includes('\ufffd') && isStorable(text)

/** Reads a detail as people write it, with pauses and an extension after a number. */
const readRaw = ({ type, text, label }: RawDetail, country: CountryCode | undefined): Detail | string => {
  const { number, extension } = type === 'PH' ? splitExtension(text) : { number: text, extension: null }
  if (extension !== null && extension.length > maxExtensionLength)
    return `the extension of "${text.slice(0, 60)}" is longer than ${maxExtensionLength} characters`
  const detail = readDetail(type, number, { country, label, extension })
  if (typeof detail === 'string') return faultTexts[detail](text.slice(0, 60))
  return detail.value.length > maxFieldLengths.address
    ? `an address is longer than ${maxFieldLengths.address} characters`
    : detail
}

type Fault = { readonly line: number; readonly fault: string }

const leftOut = ({ line, fault }: Fault): ImportError => ({
  line,
  error: `${fault}: the contact is imported without it`,
})

/**
 * Validates an entry of a file. A contact needs a name and one valid detail: bad details are left out.
 * @param line its first line
 * @returns the contact and what was left out, or all errors
 */
export const parseEntry = (line: number, raw: RawEntry, country?: CountryCode): ParsedEntry => {
  const values: RawEntry['texts'] = { ...raw.texts, ...namesOf(raw) }
  const all = [
    ...Object.values(raw.texts),
    raw.whole,
    raw.company,
    ...raw.details.flatMap(({ text, label }) => [text, label ?? '']),
  ]
  if (!all.every(isText)) return { line, read: 'it is not text in the encoding of the file' }
  const faults = values.first_name ? [] : ['the first name is missing']
  const left: Fault[] = []
  for (const name of fieldNames) {
    const fault = fieldFault(name, values[name] ?? '')
    if (fault === null) continue
    if (contactFields[name].kind === 'text') faults.push(fault)
    else {
      left.push({ line, fault })
      delete values[name]
    }
  }
  const found: Detail[] = []
  for (const one of raw.details.filter(({ text }) => text.trim() !== '')) {
    const detail = readRaw(one, country)
    if (typeof detail === 'string') left.push({ line: one.line, fault: detail })
    else found.push(detail)
  }
  const distinct = unique(found)
  const details = distinct.slice(0, maxDetails)
  const over = distinct[maxDetails]
  if (over)
    left.push({
      line,
      fault: `there are more than ${maxDetails} details, "${over.value.slice(0, 60)}" and what follows`,
    })
  if (details.length === 0)
    faults.push(
      ...(left.length > 0 ? left.map(({ fault }) => fault) : ['there is no phone number, e-mail address or address']),
    )
  if (faults.length > 0) return { line, read: faults.join('; ') }
  const read = { ...mapFields((name) => values[name] || null), channel_id: null, details }
  return { line, read, left: left.map(leftOut) }
}
