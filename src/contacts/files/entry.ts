import type { CountryCode } from 'libphonenumber-js/max'
import { type BadDetail, type Detail, type DetailType, mostDetails, readDetail, unique } from '../details.ts'
import type { Draft } from '../ops.ts'

/** What a line of a file, or a card, says of a contact. */
export type Raw = {
  first: string
  last: string
  /** The whole name, or a company's: for where there is no first name. */
  whole: string
  picture: string
  phones: string[]
  emails: string[]
  addresses: string[]
}

export const emptyRaw = (): Raw => ({
  first: '',
  last: '',
  whole: '',
  picture: '',
  phones: [],
  emails: [],
  addresses: [],
})

/** What was read: a contact, or why there is none. `line` is the first of it. */
export type Read = { readonly line: number; readonly read: Draft | string }

/** A contact has a first name: the first word of the whole name, or the only name there is. */
const namesOf = ({ first, last, whole }: Raw): { first_name: string; last_name: string } => {
  if (first !== '') return { first_name: first, last_name: last }
  if (last !== '') return { first_name: last, last_name: '' }
  const [head = '', ...rest] = whole.split(/\s+/)
  return { first_name: head, last_name: rest.join(' ') }
}

const why: Readonly<Record<BadDetail, (text: string) => string>> = {
  phone: (text) => `"${text}" is no phone number in E.164 format, such as +447700900123`,
  email: (text) => `"${text}" is no e-mail address`,
  empty: () => 'a detail is empty',
}

const longest = { name: 100, address: 500, picture: 2048 }

/** Reads a contact of a file. @returns the contact, or all that is wrong with it */
export const readEntry = (raw: Raw, country?: CountryCode): Draft | string => {
  const { first_name, last_name } = namesOf(raw)
  const faults: string[] = []
  const all = [raw.first, raw.last, raw.whole, raw.picture, ...raw.phones, ...raw.emails, ...raw.addresses]
  if (all.some((text) => text.includes('\ufffd') || text.includes('\0'))) return 'it is not text in UTF-8'
  if (first_name === '') faults.push('the first name is missing')
  for (const [name, text] of Object.entries({ first_name, last_name }))
    if (text.length > longest.name) faults.push(`${name} is longer than ${longest.name} characters`)
  if (raw.picture.length > longest.picture || !/^(?:https?:\/\/.|$)/i.test(raw.picture))
    faults.push('profile_pic_url is no web address')

  const details: Detail[] = []
  const take = (type: DetailType, texts: readonly string[]) => {
    for (const text of texts.filter((one) => one.trim() !== '')) {
      const detail = readDetail(type, text, country)
      if (typeof detail === 'string') faults.push(why[detail](text.slice(0, 60)))
      else if (detail.value.length > longest.address)
        faults.push(`an address is longer than ${longest.address} characters`)
      else details.push(detail)
    }
  }
  take('PH', raw.phones)
  take('E', raw.emails)
  take('A', raw.addresses)
  const kept = unique(details)
  if (kept.length > mostDetails) faults.push(`there are more than ${mostDetails} details`)
  if (kept.length === 0 && faults.length === 0) faults.push('there is no phone number, e-mail address or address')
  return faults.length > 0
    ? faults.join('; ')
    : { first_name, last_name, profile_pic_url: raw.picture || null, channel_id: null, details: kept }
}
