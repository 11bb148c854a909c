/**
 * An XML element. `ns` is '' for the stream's stanza namespace (`jabber:client`, `jabber:component:accept`). Parsed
 * elements look the same in both; serialised elements take the namespace of the stream.
 */
export type XmlElement = {
  readonly name: string
  readonly ns: string
  readonly attrs: Readonly<Record<string, string>>
  readonly children: readonly (XmlElement | string)[]
}

/** Builds an element. Undefined attributes and null children are omitted. */
export const xml = (
  name: string,
  ns: string,
  attrs: Readonly<Record<string, string | undefined>> = {},
  ...children: readonly (XmlElement | string | null)[]
): XmlElement => ({
  name,
  ns,
  attrs: Object.fromEntries(Object.entries(attrs).filter((entry): entry is [string, string] => entry[1] !== undefined)),
  children: children.filter((child) => child !== null),
})

export const isElement = (child: XmlElement | string): child is XmlElement => typeof child !== 'string'

/** Child elements, optionally filtered by name and namespace. */
export const elements = (parent: XmlElement, name?: string, ns?: string): XmlElement[] =>
  parent.children.filter(
    (child): child is XmlElement =>
      isElement(child) && (name === undefined || child.name === name) && (ns === undefined || child.ns === ns),
  )

export const child = (parent: XmlElement, name: string, ns: string): XmlElement | undefined => {
  for (const one of parent.children) if (isElement(one) && one.name === name && one.ns === ns) return one
  return undefined
}

/** Follows a path of child names, all of one namespace. */
export const descendant = (parent: XmlElement, ns: string, ...names: readonly string[]): XmlElement | undefined => {
  let here: XmlElement | undefined = parent
  for (const name of names) here = here && child(here, name, ns)
  return here
}

/** Direct text content of an element. */
export const textOf = (element: XmlElement | undefined): string =>
  element ? element.children.filter((one) => !isElement(one)).join('') : ''

/** Characters that XML 1.0 (2.2) forbids, even escaped. */
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

const open = ({ name, ns, attrs }: XmlElement, outer: string): string => {
  let text = `<${name}`
  if (ns !== outer) text += ` xmlns="${escapeAttribute(ns === '' ? 'jabber:client' : ns)}"`
  for (const [key, value] of Object.entries(attrs)) text += ` ${key}="${escapeAttribute(value)}"`
  return text
}

/** @param outer namespace in scope where the element is inserted */
export const serialize = (element: XmlElement, outer = ''): string => {
  const head = open(element, outer)
  if (element.children.length === 0) return `${head}/>`
  const inner = element.children.map((one) => (isElement(one) ? serialize(one, element.ns) : escapeText(one)))
  return `${head}>${inner.join('')}</${element.name}>`
}
