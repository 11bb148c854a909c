/**
 * An element. `ns` is '' for the namespace of the stream's own stanzas, whichever it is (`jabber:client`,
 * `jabber:component:accept`): what is read in either looks the same, and what is written takes that of the stream.
 */
export type Xml = {
  readonly name: string
  readonly ns: string
  readonly attrs: Readonly<Record<string, string>>
  readonly children: readonly (Xml | string)[]
}

/** Attributes that are undefined and children that are null are left out. */
export const xml = (
  name: string,
  ns: string,
  attrs: Readonly<Record<string, string | undefined>> = {},
  ...children: readonly (Xml | string | null)[]
): Xml => ({
  name,
  ns,
  attrs: Object.fromEntries(Object.entries(attrs).filter((entry): entry is [string, string] => entry[1] !== undefined)),
  children: children.filter((child) => child !== null),
})

export const isElement = (child: Xml | string): child is Xml => typeof child !== 'string'

/** The elements in it, of a name and a namespace where they are told. */
export const elements = (parent: Xml, name?: string, ns?: string): Xml[] =>
  parent.children.filter(
    (child): child is Xml =>
      isElement(child) && (name === undefined || child.name === name) && (ns === undefined || child.ns === ns),
  )

/** The first element of this name and namespace. */
export const child = (parent: Xml, name: string, ns: string): Xml | undefined => {
  for (const one of parent.children) if (isElement(one) && one.name === name && one.ns === ns) return one
  return undefined
}

/** What follows these names one in the other, all of one namespace. */
export const within = (parent: Xml, ns: string, ...names: readonly string[]): Xml | undefined => {
  let here: Xml | undefined = parent
  for (const name of names) here = here && child(here, name, ns)
  return here
}

/** The text right in it. */
export const textOf = (element: Xml | undefined): string =>
  element ? element.children.filter((one) => !isElement(one)).join('') : ''

/** XML 1.0, 2.2: no other character may stand in a document, however it is written. */
const forbidden =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g

const entities = new Map<string, string>(
  Object.entries({
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&quot;',
    "'": '&apos;',
    '\t': '&#9;',
    '\n': '&#10;',
    '\r': '&#13;',
  }),
)

const entity = (character: string): string => entities.get(character) ?? character

const escapeText = (text: string): string => text.replace(forbidden, '\ufffd').replace(/[&<>\r]/g, entity)

const escapeAttribute = (text: string): string => text.replace(forbidden, '\ufffd').replace(/[&<>"'\t\n\r]/g, entity)

const open = ({ name, ns, attrs }: Xml, outer: string): string => {
  let text = `<${name}`
  if (ns !== outer) text += ` xmlns="${escapeAttribute(ns === '' ? 'jabber:client' : ns)}"`
  for (const [key, value] of Object.entries(attrs)) text += ` ${key}="${escapeAttribute(value)}"`
  return text
}

/** @param outer the namespace that holds where it is written */
export const print = (element: Xml, outer = ''): string => {
  const head = open(element, outer)
  if (element.children.length === 0) return `${head}/>`
  const inner = element.children.map((one) => (isElement(one) ? print(one, element.ns) : escapeText(one)))
  return `${head}>${inner.join('')}</${element.name}>`
}
