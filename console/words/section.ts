/** Texts of one section: strings, functions that return one, and groups of both. */
export type Texts = { readonly [name: string]: string | Text | Texts }

// A function of texts may take parameters of every type. `never` is the parameter that all of them accept.
type Text = (...facts: never[]) => string

/** Languages that are written from right to left. */
const rightToLeft = new Set(['ar', 'fa', 'he', 'ur'])

type Language = {
  /** BCP 47, such as `en-GB`: also the locale of numbers and dates. */
  readonly tag: string
  readonly direction: 'ltr' | 'rtl'
  /** Texts by section. Sections that are missing remain English. */
  readonly texts: Readonly<Record<string, Texts>>
  /** Changes every text: the pseudo-locale of the tests. */
  readonly change?: ((text: string) => string) | undefined
}

type Writable = { [name: string]: string | Text | Writable }

let current: Language = { tag: 'en', direction: 'ltr', texts: {} }
/** The objects that pages read, with a copy of their English texts. */
const sections = new Map<string, { readonly target: Writable; readonly english: Writable }>()

const copyOf = (texts: Writable): Writable =>
  Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [name, typeof text === 'object' ? copyOf(text) : text]),
  )

/** Writes the texts of the language into a section, in place: pages hold the same object. */
const fill = (target: Writable, source: Writable, translated: Texts | undefined): void => {
  const { change } = current
  for (const [name, english] of Object.entries(source)) {
    const own = translated?.[name]
    const group = target[name]
    if (typeof english === 'string') {
      const text = typeof own === 'string' ? own : english
      target[name] = change ? change(text) : text
    } else if (typeof english === 'function') {
      const make = typeof own === 'function' ? own : english
      target[name] = change ? (...facts: never[]) => change(make(...facts)) : make
    } else if (typeof group === 'object') fill(group, english, typeof own === 'object' ? own : undefined)
  }
}

/** Registers the English texts of a section. Returns the object that its pages read while they render. */
export const section = <const T extends Texts>(name: string, english: T): TextsOf<T> => {
  // `fill` replaces strings by strings and functions by functions: the type remains.
  const target = english as unknown as Writable
  const entry = { target, english: copyOf(target) }
  sections.set(name, entry)
  fill(target, entry.english, current.texts[name])
  return english as unknown as TextsOf<T>
}

/** The type of a translation of `T`: any string in the place of an English one. */
export type TextsOf<T> = {
  readonly [K in keyof T]: T[K] extends string
    ? string
    : T[K] extends (...facts: infer F) => string
      ? (...facts: F) => string
      : TextsOf<T[K]>
}

/** Chooses the language. Call before the first page is rendered. */
export const chooseLanguage = (
  tag: string,
  texts: Readonly<Record<string, Texts>> = {},
  change?: (text: string) => string,
): void => {
  current = { tag, direction: rightToLeft.has(tag.split('-')[0] ?? '') ? 'rtl' : 'ltr', texts, change }
  for (const [name, { target, english }] of sections) fill(target, english, texts[name])
}

/** The locale of numbers, dates and plurals. */
export const locale = (): string => current.tag

/** The direction of text, for the page. */
export const direction = (): 'ltr' | 'rtl' => current.direction

type Forms = Readonly<Partial<Record<Intl.LDMLPluralRule, string>>> & { readonly other: string }

/** Returns the form of a noun for a number, such as `plural(2, { one: 'number', other: 'numbers' })`. */
export const plural = (count: number, forms: Forms): string =>
  forms[new Intl.PluralRules(locale()).select(count)] ?? forms.other

/** Returns the number and its noun: `3 numbers`. */
export const counted = (count: number, forms: Forms): string =>
  `${new Intl.NumberFormat(locale()).format(count)} ${plural(count, forms)}`
