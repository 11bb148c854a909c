import { fold } from '../../../platform/lib/fold.ts'
import { contactFields, type FieldName, fieldNames } from '../contact-fields.ts'
import { joinLabels, labelOfWord } from './labels.ts'

// The meaning of columns by their names: ours, and those of Google (old and new), Outlook, Apple and Excel, in English,
// German, French, Spanish and Portuguese. Names are folded: lower case, without accents and punctuation.

/** Parts of an address, in the order in which they are joined. */
export const addressParts = ['box', 'extended', 'street', 'city', 'region', 'postal', 'country'] as const
export type AddressPart = (typeof addressParts)[number]

type DetailKind = 'phone' | 'email' | 'address'

/** `place` relates the columns of one detail: its value, its label, the parts of its address. */
export type Column =
  | { readonly kind: 'field'; readonly name: FieldName }
  | { readonly kind: 'middle' | 'second' | 'whole' | 'company' | 'given' | 'family' }
  | { readonly kind: DetailKind; readonly place: string; readonly label: string | null }
  | { readonly kind: 'label'; readonly of: DetailKind; readonly place: string }
  | { readonly kind: 'part'; readonly place: string; readonly label: string | null; readonly part: AddressPart }

const list = (text: string): ReadonlySet<string> => new Set(text.split('|'))

/** Whole names. `given` and `family` may also name the whole person: the other columns decide. */
const names: readonly (readonly [
  ReadonlySet<string>,
  Exclude<Column['kind'], 'field' | 'label' | 'part' | DetailKind>,
])[] = [
  [
    list(
      'middle name|additional name|middle|additional names|zweiter vorname|weitere vornamen|2 vorname|deuxieme prenom|autres prenoms|autre prenom|segundo nombre|segundo nome|nome do meio|nombre adicional',
    ),
    'middle',
  ],
  [list('segundo apellido|second last name'), 'second'],
  [
    list(
      'full name|display name|name|contact|contact name|kontakt|anzeigename|angezeigter name|vollstandiger name|vor und nachname|nom complet|nom d affichage|nom affiche|nom et prenom|nombre completo|nombre y apellidos|nombre para mostrar|contacto|nome completo|nome de exibicao|nome para exibicao|contato|fn|имя|фио',
    ),
    'whole',
  ],
  [list('nombre|nome'), 'given'],
  [list('nom|apelido'), 'family'],
  [
    list(
      'company|company name|organization|organisation|organization name|organisation name|organization 1 name|organisation 1 name|firma|firmenname|unternehmen|societe|entreprise|nom de l entreprise|empresa|compania|organizacion|nombre de la organizacion|organizacao|nome da organizacao|nome da empresa',
    ),
    'company',
  ],
]

const fillers = list(
  'de|du|des|del|da|do|das|dos|la|le|les|l|el|o|a|of|the|no|nr|n|value|wert|valeur|valor|number|nummer|numero|der|die|das',
)
const phones = list(
  'phone|telephone|tel|telefon|telefonnummer|rufnummer|telefono|telefone|fon|msisdn|phonenumber|mobiltelefon|mobilnummer|mobile|mobil|cell|cellphone|cellular|handy|handynummer|portable|movil|celular|telemovel|haupttelefon|hauptnummer|autotelefon|firmentelefon|телефон',
)
const emails = list('email|emails|emailadresse|emailaddress|mail|mailadresse|courriel|correo|correio|messagerie')
/** Words beside those of e-mail addresses. */
const ofEmails = list(
  'address|addresses|adresse|direccion|endereco|electronico|electronica|eletronico|elektronische|electronique|e',
)
const addresses = list('address|adresse|anschrift|postanschrift|direccion|endereco|morada')
const ofAddresses = list('postal|postale|mailing|formatted|formatiert|physical|full')
const partWords: Readonly<Record<AddressPart, ReadonlySet<string>>> = {
  box: list('box|pobox|postfach|boite|apartado|caixa'),
  extended: list('extended|zusatz|adresszusatz|complement|complemento'),
  street: list('street|strasse|str|rue|calle|rua|line|zeile|linea|linha|ligne'),
  city: list('city|town|locality|ort|stadt|wohnort|ville|ciudad|localidad|poblacion|cidade|localidade'),
  postal: list('zip|zipcode|postcode|plz|postleitzahl|cp|cep|postal'),
  region: list(
    'state|province|region|bundesland|kanton|provincia|comunidad|estado|etat|departement|departamento|distrito|county',
  ),
  country: list('country|land|pays|pais'),
}
const ofParts = list('code|codigo|po|postale|address|adresse|direccion|endereco|line|or|ou|y|e|und')
const labelWords = list('label|type|typ|libelle|etiqueta|tipo|marcador|bezeichnung')

const typeWords = list('type|typ|tipo')

const isNumber = (word: string): boolean => /^\d{1,2}$/.test(word)

/** Finds the meaning of words of which each must be known. */
const detailOf = (words: readonly string[]): Column | null => {
  const index = words.filter(isNumber).join(' ')
  const rest = words.filter((word) => !isNumber(word) && !fillers.has(word))
  const bare = rest.filter((word) => !labelWords.has(word))
  // The type of an address of e-mail is SMTP for Outlook.
  const isLabel = bare.length < rest.length && (index !== '' || !rest.some((word) => typeWords.has(word)))
  const labels = bare.flatMap((word) => labelOfWord(word) ?? [])
  const label = joinLabels(labels)
  const placeOf = (kind: string, number = index) => [kind, number, label ?? ''].join(' ')
  const all = (...sets: readonly ReadonlySet<string>[]) =>
    bare.every((word) => labelOfWord(word) !== undefined || sets.some((set) => set.has(word)))
  const some = (set: ReadonlySet<string>) => bare.some((word) => set.has(word))
  const column = (kind: DetailKind): Column =>
    isLabel ? { kind: 'label', of: kind, place: placeOf(kind) } : { kind, place: placeOf(kind), label }

  if (bare.length < rest.length && !isLabel) return null
  if (bare.length === 0 && !isLabel)
    return words.some((word) => /^(?:number|nummer|numero)$/.test(word)) ? column('phone') : null
  if (labels.some((each) => each === 'fax' || each === 'pager')) return null
  if (some(emails) && all(emails, ofEmails)) return column('email')
  if (some(phones) && all(phones)) return column('phone')
  if (some(addresses) && all(addresses, ofAddresses)) return column('address')
  const part = addressParts.find((each) => bare.some((word) => partWords[each].has(word)))
  if (part === undefined || isLabel || !all(ofParts, ...Object.values(partWords))) return null
  // Country or region is one column of Outlook; a country code repeats the country.
  const found = some(partWords.country) ? 'country' : part
  if (found === 'country' && some(list('code|codigo'))) return null
  // `Address 1 - Street` is of the first address, and `Street 2` the second line of a street.
  const ofWhich = words.findIndex((word) => addresses.has(word)) + 1
  const number = ofWhich > 0 && isNumber(words[ofWhich] ?? '') ? index : ''
  return { kind: 'part', place: placeOf('address', number), label, part: found }
}

/** Returns the meaning of a column, or null if it has none for us. */
const columnOf = (title: string): Column | null => {
  const folded = fold(title.slice(0, 100))
    .replace(/\be mail/g, 'email')
    .replace(/^(?:contact|kontakt) (?=phone|number|email)/, '')
  const field = fieldNames.find((name) => contactFields[name].csv.test(folded))
  if (field) return { kind: 'field', name: field }
  const name = names.find(([all]) => all.has(folded))
  return name ? { kind: name[1] } : detailOf(folded.split(' '))
}

/** Meanings of columns that a request may give. */
export const meanings = ['ignore', 'name', 'company', 'phone', 'email', 'address', ...fieldNames] as const
type Meaning = (typeof meanings)[number]

/** Returns the meaning of a column that has one of these; `recognised` for the others, such as parts of an address. */
export const meaningOf = (column: Column | null): Meaning | 'recognised' => {
  if (column === null) return 'ignore'
  if (column.kind === 'field') return column.name
  if (column.kind === 'whole') return 'name'
  return meanings.find((each) => each === column.kind) ?? 'recognised'
}

/** Returns the column of a meaning that a request gives. @param index of the column */
const chosenColumn = (meaning: Meaning, index: number): Column | null => {
  if (meaning === 'ignore') return null
  if (meaning === 'name') return { kind: 'whole' }
  if (meaning === 'company') return { kind: 'company' }
  if (meaning === 'phone' || meaning === 'email' || meaning === 'address')
    return { kind: meaning, place: `chosen ${index}`, label: null }
  return { kind: 'field', name: meaning }
}

/**
 * Returns the meanings of the columns of a file.
 * @param chosen meanings that a request gives; null: by the title
 */
export const columnsOf = (titles: readonly string[], chosen: readonly (Meaning | null)[] = []): (Column | null)[] => {
  const named = namedColumns(titles)
  const count = Math.max(titles.length, chosen.length)
  const all = Array.from({ length: count }, (_, i) => {
    const meaning = chosen[i] ?? null
    const column = named[i] ?? null
    // The column keeps the label that its title gives.
    if (meaning === null || meaning === meaningOf(column)) return column
    return chosenColumn(meaning, i)
  })
  const streets = new Set(
    all.flatMap((column) => (column?.kind === 'part' && column.part === 'street' ? [column.place] : [])),
  )
  // A city or a country alone is no address.
  return all.map((column) => (column?.kind === 'part' && !streets.has(column.place) ? null : column))
}

/** Parses a list of meanings of a request. @returns null if one is unknown */
export const readMeanings = (text: string): (Meaning | null)[] | null => {
  const found = text.split(',').map((name) => (name.trim() === '' ? null : meanings.find((one) => one === name.trim())))
  return found.some((one) => one === undefined) ? null : found.map((one) => one ?? null)
}

const namedColumns = (titles: readonly string[]): (Column | null)[] => {
  const found = titles.map(columnOf)
  const has = (name: FieldName) => found.some((column) => column?.kind === 'field' && column.name === name)
  const isGiven = found.some((column) => column?.kind === 'given')
  const isFamily = found.some((column) => column?.kind === 'family')
  const [hasFirst, hasLast] = [has('first_name'), has('last_name')]
  return found.map((column): Column | null => {
    if (column?.kind === 'given')
      return hasFirst || !(hasLast || isFamily) ? { kind: 'whole' } : { kind: 'field', name: 'first_name' }
    if (column?.kind === 'family')
      return hasLast || !(hasFirst || isGiven) ? { kind: 'whole' } : { kind: 'field', name: 'last_name' }
    return column
  })
}
