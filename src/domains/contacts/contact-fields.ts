import { type Static, type TSchema, Type } from 'typebox'
import { FreeText, webAddress } from '../../platform/http/schema.ts'
import { maxFieldLengths } from './limits.ts'

/**
 * A field of a contact that is one text, in a column of its name. Its schemas, values, search, files and merge are
 * derived from its row in the table. Numbers and addresses are details: see `details.ts`.
 */
type ContactField = {
  /** A `text` is trimmed. A `url` is a web address, and is stored as it was sent. */
  readonly kind: 'text' | 'url'
  readonly maxLength: number
  /** In requests that create. */
  readonly create: TSchema
  /** In requests that change or merge. Null empties the field. */
  readonly change: TSchema
  /** In responses and events. */
  readonly reply: TSchema
  /** The value of an empty field. */
  readonly empty: '' | null
  /** Whether a search finds its words. The function `contacts_search` must return the column then. */
  readonly isSearched: boolean
  /** Names of its column in CSV files of address books, folded. */
  readonly csv: RegExp
  /** Its property in vCards. */
  readonly vcard: string
}

const name = { kind: 'text', maxLength: maxFieldLengths.name, empty: '', isSearched: true, vcard: 'N' } as const
const FirstName = FreeText(maxFieldLengths.name)
const LastName = Type.String({ maxLength: maxFieldLengths.name, examples: ['Lovelace'] })
const Picture = Type.Union([
  Type.String({
    pattern: webAddress,
    maxLength: maxFieldLengths.picture,
    description: 'A public URL',
    examples: ['https://example.com/ada.jpg'],
  }),
  Type.Null(),
])

export const contactFields = {
  first_name: {
    ...name,
    create: FirstName,
    change: Type.Optional(FirstName),
    reply: Type.String({ examples: ['Ada'] }),
    csv: /^(?:first|given) names?$|^first$|^vornamen?$|^rufname$|^prenoms?$|^primer nombre$|^nombre de pila$|^primeiro nome$|^nome proprio$/,
  },
  last_name: {
    ...name,
    create: Type.Optional(LastName),
    change: Type.Optional(Type.Union([LastName, Type.Null()])),
    reply: Type.String({ examples: ['Lovelace'] }),
    csv: /^(?:last|family) names?$|^surname$|^last$|^nachname$|^familienname$|^zuname$|^nom de famille$|^apellidos?$|^primer apellido$|^sobrenome$|^ultimo nome$|^apelidos$/,
  },
  profile_pic_url: {
    kind: 'url',
    maxLength: maxFieldLengths.picture,
    create: Type.Optional(Picture),
    change: Type.Optional(Picture),
    reply: Type.Union([Type.String(), Type.Null()]),
    empty: null,
    isSearched: false,
    csv: /^(?:profile pic(?:ture)? url|photo|photo url)$/,
    vcard: 'PHOTO',
  },
} as const satisfies Readonly<Record<string, ContactField>>

type Fields = typeof contactFields
export type FieldName = keyof Fields
export type FieldValues = { readonly [N in FieldName]: Static<Fields[N]['reply']> }

// TypeScript does not type keys and entries by the object that they are of.
export const fieldNames = Object.keys(contactFields) as FieldName[]

/** The fields that vCards and CSV files have at another place than the rest. */
export const nameFields = ['first_name', 'last_name'] as const
export const otherFields = fieldNames.filter((name) => !nameFields.some((one) => one === name))

/** Returns the schemas of all fields for one kind of body. */
export const schemasOf = <Kind extends 'create' | 'change' | 'reply'>(kind: Kind) =>
  Object.fromEntries(fieldNames.map((name) => [name, contactFields[name][kind]])) as {
    [N in FieldName]: Fields[N][Kind]
  }

/** Returns the fields with these values. A field without a value is empty. */
export const mapFields = (textOf: (name: FieldName) => string | null | undefined): FieldValues =>
  Object.fromEntries(fieldNames.map((name) => [name, textOf(name) ?? contactFields[name].empty])) as FieldValues

/**
 * Reads the fields of a body.
 * @param absent value of a field that the body does not have. Default: empty
 */
export const fieldsIn = (
  body: { readonly [N in FieldName]?: string | null },
  absent: (name: FieldName) => string | null = () => null,
): FieldValues =>
  mapFields((name) => {
    const value = body[name]
    if (value === undefined) return absent(name)
    return contactFields[name].kind === 'text' ? value?.trim() : value
  })

type SearchedField = { [N in FieldName]: Fields[N]['isSearched'] extends true ? N : never }[FieldName]

/** The fields that a search reads. */
export type SearchedValues = Pick<FieldValues, SearchedField>

const searchedFields = fieldNames.filter((name): name is SearchedField => contactFields[name].isSearched)

/** Returns the text whose words a search finds. */
export const searchedText = (values: SearchedValues): string => searchedFields.map((name) => values[name]).join(' ')
