import type { ReplyOf } from '../api/client.ts'

export type Contact = ReplyOf<'GET /open/contacts/:contact_uuid'>['contact']
export type Detail = Contact['details'][number]
export type Kind = Detail['type']

export const kinds = ['PH', 'WAPH', 'E', 'A'] as const

export const nameOf = ({ first_name, last_name }: Pick<Contact, 'first_name' | 'last_name'>): string =>
  `${first_name} ${last_name}`.trim()

export const isNumber = ({ type }: Pick<Detail, 'type'>): boolean => type === 'PH' || type === 'WAPH'

/** Each number once. */
export const numbersOf = ({ details }: Contact): readonly string[] => [
  ...new Set(details.filter(isNumber).map(({ value }) => value)),
]

/** Routes whose answers a change of a contact makes old. */
export const staleLists = [
  'GET /open/contacts',
  'GET /open/contacts/:contact_uuid',
  'GET /open/contacts/duplicates',
] as const
