import { type SaxesAttributeNS, SaxesParser, type SaxesTagNS } from 'saxes'
import type { Xml } from './xml.ts'

/** Characters of a stanza that are kept; of a larger one only its own attributes are (Prosody forwards up to 512 KiB). */
const mostKept = 1 << 20

/** Bytes of a stanza after which the stream is left: no server lets as much through. */
const mostRead = 1 << 22

/** Elements in one another, and elements of a stanza, that are kept. */
const deepest = 64
const mostElements = 10_000

/** Attributes of an element that are kept: saxes resolves all of them at once, 25,000 of one stanza in 100 ms. */
const mostAttributes = 256

/**
 * Namespaces and attributes of elements below the deepest one. saxes looks for a prefix in every open element, in quadratic
 * time: this answers at once. Names there mean nothing, and saxes holds every open element until it ends.
 */
const anyNamespace = new Proxy<Record<string, string>>(Object.create(null), { get: (_, prefix) => prefix })
const noAttributes = Object.freeze<Record<string, SaxesAttributeNS>>(Object.create(null))

/** The stream is not what RFC 6120, section 11, allows, or too much. */
export class StreamFault extends Error {}

export type ReaderEvents = {
  /** The header of the stream. */
  opened(attrs: Readonly<Record<string, string>>): void
  /** @param cut it was too large, too deep or broken: its children are not here */
  stanza(stanza: Xml, cut: boolean): void
  closed(): void
}

type Growing = { name: string; ns: string; attrs: Record<string, string>; children: (Xml | string)[] }

/** Namespaces of the stream's own stanzas. */
const own = new Set(['jabber:client', 'jabber:component:accept', 'jabber:server'])

const attributesOf = ({ attributes }: SaxesTagNS): Record<string, string> => {
  // Of no prototype: the names come from outside.
  const attrs: Record<string, string> = Object.create(null)
  for (const { name, value } of Object.values<SaxesAttributeNS>(attributes)) {
    if (name !== 'xmlns' && !name.startsWith('xmlns:')) attrs[name] = value
  }
  return attrs
}

/**
 * Reads one XML stream, in bounded memory. Document types, entities, comments and processing instructions end it
 * (RFC 6120, 11.1).
 */
export class Reader {
  private readonly parser = new SaxesParser({ xmlns: true, position: false })
  private readonly decoder = new TextDecoder('utf-8', { fatal: true })
  private readonly events: ReaderEvents
  /** Elements that are open, the stanza first; the stream itself is not among them, nor what is left out. */
  private readonly path: Growing[] = []
  private isOpen = false
  private depth = 0
  private kept = 0
  private read = 0
  private count = 0
  private attributes = 0
  private cut = false

  constructor(events: ReaderEvents) {
    this.events = events
    const fault = (what: string) => () => {
      throw new StreamFault(what)
    }
    this.parser.on('error', (error) => {
      throw new StreamFault(error.message)
    })
    this.parser.on('doctype', fault('a document type'))
    this.parser.on('comment', fault('a comment'))
    this.parser.on('processinginstruction', fault('a processing instruction'))
    this.parser.on('opentagstart', () => {
      this.attributes = 0
    })
    this.parser.on('attribute', () => this.attribute())
    this.parser.on('opentag', (tag) => this.begin(tag))
    this.parser.on('closetag', () => this.end())
    this.parser.on('text', (text) => this.text(text))
    this.parser.on('cdata', (text) => this.text(text))
  }

  /** @throws StreamFault for what is no stream of XMPP, after the stanza that it stands in was given as a cut one */
  write(bytes: Uint8Array): void {
    try {
      this.read += bytes.length
      if (this.read > mostRead) throw new StreamFault('a stanza of more than 4 MiB')
      this.parser.write(this.decode(bytes))
    } catch (error) {
      const [stanza] = this.path.splice(0)
      // Counted as received: a server would send it again whenever the stream is resumed (XEP-0198, 5), for ever.
      if (error instanceof StreamFault && stanza) this.events.stanza({ ...stanza, children: [] }, true)
      throw error
    }
  }

  private decode(bytes: Uint8Array): string {
    try {
      return this.decoder.decode(bytes, { stream: true })
    } catch {
      throw new StreamFault('bytes that are no UTF-8')
    }
  }

  private attribute(): void {
    if (++this.attributes <= mostAttributes) return
    this.cut = true
    // saxes offers no other way to leave one out.
    const listed: unknown = Reflect.get(this.parser, 'attribList')
    if (Array.isArray(listed)) listed.pop()
  }

  private begin(tag: SaxesTagNS): void {
    if (!this.isOpen) {
      if (tag.local !== 'stream' || tag.uri !== 'http://etherx.jabber.org/streams') throw new StreamFault('no stream')
      this.isOpen = true
      this.events.opened(attributesOf(tag))
      return
    }
    this.depth++
    this.count++
    if (this.depth > deepest || this.count > mostElements) this.cut = true
    if (this.cut && this.depth > 1) {
      if (this.depth > deepest) tag.ns = anyNamespace
      tag.attributes = noAttributes
      return
    }
    const attrs = attributesOf(tag)
    this.grow(Object.values(attrs).reduce((sum, value) => sum + value.length, tag.name.length))
    if (this.cut && this.depth > 1) return
    const element = { name: tag.local, ns: own.has(tag.uri) ? '' : tag.uri, attrs, children: [] }
    this.path.at(-1)?.children.push(element)
    this.path.push(element)
  }

  private end(): void {
    if (this.depth === 0) {
      this.events.closed()
      return
    }
    const ended = this.path.length === this.depth ? this.path.pop() : undefined
    this.depth--
    if (this.depth > 0 || !ended) return
    const { cut } = this
    this.kept = 0
    this.read = 0
    this.count = 0
    this.cut = false
    this.events.stanza(cut ? { ...ended, children: [] } : ended, cut)
  }

  private text(text: string): void {
    // Between stanzas: white space that keeps the link alive (RFC 6120, 4.6.1).
    if (this.depth === 0) {
      this.read = 0
      return
    }
    this.grow(text.length)
    if (!this.cut) this.path.at(-1)?.children.push(text)
  }

  private grow(by: number): void {
    this.kept += by
    if (this.kept > mostKept) this.cut = true
  }
}
