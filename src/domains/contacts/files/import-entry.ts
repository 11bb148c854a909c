import type { CountryCode } from 'libphonenumber-js/max'
import { isStorable } from '../../../platform/lib/storable.ts'
import { type Detail, type DetailFault, type DetailType, readDetail, unique } from '../details.ts'
import { maxDetails, maxFieldLengths } from '../limits.ts'
import type { Draft } from '../ops.ts'

/** Contents of one line or card, not validated. */
export type RawEntry = {
  first: string
  last: string
  /** Full name or company: used when there is no first name. */
  whole: string
  picture: string
  phones: string[]
  emails: string[]
  addresses: string[]
}

export const emptyEntry = (): RawEntry => ({
  first: '',
  last: '',
  whole: '',
  picture: '',
  phones: [],
  emails: [],
  addresses: [],
})

/** A parsed entry: a contact, or its errors as text. `line` is its first line. */
export type ParsedEntry = { readonly line: number; readonly read: Draft | string }

/** Derives a first name if there is none: the last name, else the first word of the full name. */
const namesOf = ({ first, last, whole }: RawEntry): { first_name: string; last_name: string } => {
  if (first !== '') return { first_name: first, last_name: last }
  if (last !== '') return { first_name: last, last_name: '' }
  const [head = '', ...rest] = whole.split(/\s+/)
  return { first_name: head, last_name: rest.join(' ') }
}

const faultTexts: Readonly<Record<DetailFault, (text: string) => string>> = {
  phone: (text) => `"${text}" is not a phone number in E.164 format, such as +447700900123`,
  email: (text) => `"${text}" is not an e-mail address`,
  empty: () => 'a detail is empty',
}

/**
 * Validates an entry of a file.
 * @returns the contact, or all its errors
 */
export const parseEntry = (raw: RawEntry, country?: CountryCode): Draft | string => {
  const { first_name, last_name } = namesOf(raw)
  const faults: string[] = []
  const all = [raw.first, raw.last, raw.whole, raw.picture, ...raw.phones, ...raw.emails, ...raw.addresses]
  if (all.some((text) => text.includes('\ufffd') || !isStorable(text))) return 'it is not UTF-8 text'
  if (first_name === '') faults.push('the first name is missing')
  for (const [name, text] of Object.entries({ first_name, last_name }))
    if (text.length > maxFieldLengths.name) faults.push(`${name} is longer than ${maxFieldLengths.name} characters`)
  if (raw.picture.length > maxFieldLengths.picture || !/^(?:https?:\/\/.|$)/i.test(raw.picture))
    faults.push('profile_pic_url is not a web address')

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
    : { first_name, last_name, profile_pic_url: raw.picture || null, channel_id: null, details: distinct }
}
