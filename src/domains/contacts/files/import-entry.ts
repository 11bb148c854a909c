import type { CountryCode } from 'libphonenumber-js/max'
import { webAddress } from '../../../platform/http/schema.ts'
import { isStorable } from '../../../platform/lib/storable.ts'
import { contactFields, type FieldName, fieldNames, mapFields } from '../contact-fields.ts'
import { type Detail, type DetailFault, type DetailType, readDetail, unique } from '../details.ts'
import { maxDetails, maxFieldLengths } from '../limits.ts'
import type { Draft } from '../ops.ts'

/** Contents of one line or card, not validated. */
export type RawEntry = {
  texts: { [N in FieldName]?: string }
  /** Full name or company: used when there is no first name. */
  whole: string
  phones: string[]
  emails: string[]
  addresses: string[]
}

export const emptyEntry = (): RawEntry => ({
  texts: {},
  whole: '',
  phones: [],
  emails: [],
  addresses: [],
})

/** A parsed entry: a contact, or its errors as text. `line` is its first line. */
export type ParsedEntry = { readonly line: number; readonly read: Draft | string }

/** Derives a first name if there is none: the last name, else the first word of the full name. */
const namesOf = ({ texts: { first_name, last_name = '' }, whole }: RawEntry) => {
  if (first_name) return { first_name, last_name }
  if (last_name !== '') return { first_name: last_name, last_name: '' }
  const [head = '', ...rest] = whole.split(/\s+/)
  return { first_name: head, last_name: rest.join(' ') }
}

const faultTexts: Readonly<Record<DetailFault, (text: string) => string>> = {
  phone: (text) => `"${text}" is not a phone number in E.164 format, such as +447700900123`,
  email: (text) => `"${text}" is not an e-mail address`,
  empty: () => 'a detail is empty',
}

const isWebAddress = new RegExp(webAddress)

const fieldFault = (name: FieldName, text: string): string[] => {
  const { kind, maxLength } = contactFields[name]
  const isLong = text.length > maxLength
  if (kind === 'url') return isLong || !isWebAddress.test(text) ? [`${name} is not a web address`] : []
  return isLong ? [`${name} is longer than ${maxLength} characters`] : []
}

/**
 * Validates an entry of a file.
 * @returns the contact, or all its errors
 */
export const parseEntry = (raw: RawEntry, country?: CountryCode): Draft | string => {
  const values: RawEntry['texts'] = { ...raw.texts, ...namesOf(raw) }
  const faults: string[] = []
  const all = [...Object.values(raw.texts), raw.whole, ...raw.phones, ...raw.emails, ...raw.addresses]
  if (all.some((text) => text.includes('\ufffd') || !isStorable(text))) return 'it is not UTF-8 text'
  if (!values.first_name) faults.push('the first name is missing')
  for (const name of fieldNames) faults.push(...fieldFault(name, values[name] ?? ''))

  const details: Detail[] = []
  const take = (type: DetailType, texts: readonly string[]) => {
    for (const text of texts.filter((one) => one.trim() !== '')) {
      const detail = readDetail(type, text, country)
      if (typeof detail === 'string') faults.push(faultTexts[detail](text.slice(0, 60)))
      else if (detail.value.length > maxFieldLengths.address)
        faults.push(`an address is longer than ${maxFieldLengths.address} characters`)
      else details.push(detail)
    }
  }
  take('PH', raw.phones)
  take('E', raw.emails)
  take('A', raw.addresses)
  const distinct = unique(details)
  if (distinct.length > maxDetails) faults.push(`there are more than ${maxDetails} details`)
  if (distinct.length === 0 && faults.length === 0) faults.push('there is no phone number, e-mail address or address')
  return faults.length > 0
    ? faults.join('; ')
    : { ...mapFields((name) => values[name] || null), channel_id: null, details: distinct }
}
