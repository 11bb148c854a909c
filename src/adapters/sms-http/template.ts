import type { SmsPart } from '../../ports/sms.ts'
import { basic, digits, receiptUrl } from './callback-content.ts'
import type { GenericSettings } from './sms-http-settings.ts'

/** Values of templates, by the names in braces. */
export type TemplateValues = Readonly<Record<(typeof templateNames)[number], string>> & {
  /** Addresses of files: in JSON a list, elsewhere separated by commas. */
  readonly media: readonly string[]
}

/** The names that templates may have. Other braces, such as those of JSON, stay as they are. */
const templateNames = [
  'from',
  'to',
  'text',
  'id',
  'callback',
  'reference',
  'encoding',
  'coding',
  'seconds',
  'username',
  'password',
  'token',
  'basic',
] as const

/** Where a value is put: it is escaped for that place. */
type TemplatePlace = 'url' | 'header' | 'json' | 'form' | 'text'

const escapes: Readonly<Record<TemplatePlace, (value: string) => string>> = {
  url: (value) => encodeURIComponent(value.toWellFormed()),
  form: (value) => encodeURIComponent(value.toWellFormed()),
  json: (value) => JSON.stringify(value).slice(1, -1),
  // A value cannot begin another header.
  header: (value) => value.replaceAll(/[^\t -~]/g, ''),
  text: (value) => value,
}

const pattern = new RegExp(`\\{(${templateNames.join('|')}|media)\\}`, 'g')

const isName = (name: string): name is (typeof templateNames)[number] => templateNames.some((one) => one === name)

const fillList = (list: readonly string[], place: TemplatePlace): string =>
  place === 'json' ? JSON.stringify(list) : list.map(escapes[place]).join()

/** Fills a template in. */
export const fillTemplate = (template: string, place: TemplatePlace, values: TemplateValues): string =>
  // A list needs no quotes.
  (place === 'json' ? template.replaceAll('"{media}"', '{media}') : template).replaceAll(pattern, (_, name: string) =>
    isName(name) ? escapes[place](values[name]) : fillList(values.media, place),
  )

/** Whether a template has a place for files. */
export const namesMedia = (template: string): boolean => template.includes('{media}')

/** Returns the values of a part; without one, for a test. */
export const templateValues = (settings: GenericSettings, part: SmsPart | null): TemplateValues => {
  const { username = '', password = '', token = '', number_form: form = 'e164' } = settings
  const numberOf = (number: string) => (form === 'digits' ? digits(number) : number)
  return {
    from: part ? numberOf(part.source) : '',
    to: part ? numberOf(part.destination) : '',
    text: part?.text ?? '',
    id: part ? `${part.message}.${part.part}` : '',
    callback: receiptUrl(part?.callback) ?? '',
    reference: part?.callback?.token ?? '',
    encoding: part?.encoding ?? '',
    coding: part?.encoding === 'ucs2' ? '2' : '0',
    seconds: part?.validSeconds === undefined ? '' : String(part.validSeconds),
    username,
    password,
    token,
    media: part?.media ?? [],
    basic: basic(username, password).slice('Basic '.length),
  }
}
