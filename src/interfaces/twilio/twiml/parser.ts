import { SaxesParser } from 'saxes'
import { maxDocumentBytes, maxDocumentDepth, maxDocumentElements } from '../limits.ts'
import { TwimlError } from './twiml-error.ts'

// The parser of TwiML, for answers to messages and to calls: it knows no verb.

/** An element of a document. Names and attributes are case-sensitive. */
export type TwimlElement = {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  /** Texts as written, and elements. */
  readonly children: readonly (TwimlElement | string)[]
}

type OpenElement = {
  readonly name: string
  readonly attributes: Record<string, string>
  readonly children: (TwimlElement | string)[]
}

const malformed = (why: string): never => {
  throw new TwimlError(12100, `the document is not valid: ${why}`)
}

/**
 * Parses a document and returns the verbs in `<Response>`. White space and a byte-order mark before it are dropped. Document
 * types are refused, and entities beyond those of XML are errors: nothing is expanded. Comments and processing instructions
 * are ignored.
 * @throws TwimlError
 */
export const parseTwiml = (text: string): TwimlElement[] => {
  if (Buffer.byteLength(text) > maxDocumentBytes)
    throw new TwimlError(11750, `the document is longer than ${maxDocumentBytes} bytes`)
  const parser = new SaxesParser({ xmlns: false, position: false })
  const open: OpenElement[] = []
  const document: { root?: TwimlElement } = {}
  let count = 0
  const addText = (part: string) => open.at(-1)?.children.push(part)
  parser.on('error', (error) => malformed(error.message))
  parser.on('doctype', () => malformed('it has a document type'))
  parser.on('opentag', ({ name, attributes }) => {
    if (++count > maxDocumentElements) malformed(`it has more than ${maxDocumentElements} elements`)
    if (open.length >= maxDocumentDepth) malformed(`it is nested more than ${maxDocumentDepth} deep`)
    // Without a prototype: names come from the program.
    const element: OpenElement = { name, attributes: Object.assign(Object.create(null), attributes), children: [] }
    open.at(-1)?.children.push(element)
    open.push(element)
  })
  parser.on('closetag', () => {
    const ended = open.pop()
    if (open.length === 0 && ended) document.root = ended
  })
  parser.on('text', addText)
  parser.on('cdata', addText)
  parser.write(text.replace(/^[\ufeff\s]+/, '')).close()
  const { root } = document
  if (root === undefined) return malformed('it is empty')
  if (root.name !== 'Response') throw new TwimlError(12200, `the document begins with ${root.name}, not with Response`)
  const verbs: TwimlElement[] = []
  for (const child of root.children) {
    if (typeof child !== 'string') verbs.push(child)
    else if (child.trim() !== '') throw new TwimlError(12200, 'Response has text outside of a verb')
  }
  return verbs
}

/** Returns the text of an element and of the elements in it. */
export const textOf = ({ children }: TwimlElement): string =>
  children.map((child) => (typeof child === 'string' ? child : textOf(child))).join('')

/** Returns the elements of a name in an element. */
export const childrenOf = ({ children }: TwimlElement, name: string): TwimlElement[] =>
  children.flatMap((child) => (typeof child !== 'string' && child.name === name ? [child] : []))
