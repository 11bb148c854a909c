import type { ReplyOf, RequestOf } from '../api/client.ts'
import { words } from '../words/en/contacts.ts'

export type Contact = ReplyOf<'GET /open/contacts/:contact_uuid'>['contact']
export type Detail = Contact['details'][number]
export type Kind = Detail['type']

export const kinds = ['PH', 'WAPH', 'E', 'A'] as const

/** Labels that are offered; people may write others. */
const labels = ['mobile', 'work', 'home', 'main', 'other'] as const

/** The label of a detail in the language of the console, or as a person wrote it. */
export const labelText = (label: string): string => {
  const known = labels.find((one) => one === label)
  return known ? words.labels[known] : label
}

export const isNumber = ({ type }: Pick<Detail, 'type'>): boolean => type === 'PH' || type === 'WAPH'

/** Each number once. */
export const numbersOf = ({ details }: Contact): readonly string[] => [
  ...new Set(details.filter(isNumber).map(({ value }) => value)),
]

type Body = NonNullable<RequestOf<'PUT /open/contacts/:contact_uuid'>['body']>

/** A field of a contact that is one text. Form, page, merge and import show the fields of this table. */
export type FieldName = Exclude<keyof Body, 'channel_uuid' | 'contact_details' | 'contact_detail'>

type ContactField = {
  readonly type: 'text' | 'url'
  readonly maxLength: number
}

export const contactFields: Readonly<Record<FieldName, ContactField>> = {
  first_name: { type: 'text', maxLength: 100 },
  last_name: { type: 'text', maxLength: 100 },
  profile_pic_url: { type: 'url', maxLength: 2_048 },
}

// TypeScript does not type keys and entries by the object that they are of.
export const fieldNames = Object.keys(contactFields) as FieldName[]
export const nameFields = ['first_name', 'last_name'] as const
export const otherFields = fieldNames.filter((name) => !nameFields.some((one) => one === name))

/** Returns the fields as a request has them. Null empties a field. */
export const mapFields = (textOf: (name: FieldName) => string | null) =>
  Object.fromEntries(fieldNames.map((name) => [name, textOf(name)])) as {
    readonly [N in FieldName]: null extends Body[N] ? string | null : string
  }

/** Routes whose answers a change of a contact makes old. */
export const staleLists = [
  'GET /open/contacts',
  'GET /open/contacts/:contact_uuid',
  'GET /open/contacts/duplicates',
] as const
