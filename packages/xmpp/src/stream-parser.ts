import { type SaxesAttributeNS, SaxesParser, type SaxesTagNS } from 'saxes'
import type { XmlElement } from './xml.ts'

/**
 * Maximum characters buffered of a stanza. A larger stanza keeps only its own attributes (Prosody forwards up to 512
 * KiB).
 */
const maxStanzaLength = 1 << 20

/** Maximum bytes of a stanza before the stream is closed; no server permits as many. */
const maxStanzaBytes = 1 << 22

/** Maximum nesting depth and number of elements buffered of a stanza. */
const maxDepth = 64
const maxElements = 10_000

/** Maximum attributes buffered of an element. saxes resolves all of them at once: 25,000 of one stanza take 100 ms. */
const maxAttributes = 256

/**
 * Namespaces and attributes of elements below the maximum depth. saxes looks up a prefix in every open element, in
 * quadratic time; this proxy answers at once. Such elements are dropped, and saxes holds every open element until its
 * end tag.
 */
const anyNamespace = new Proxy<Record<string, string>>(Object.create(null), { get: (_, prefix) => prefix })
const noAttributes = Object.freeze<Record<string, SaxesAttributeNS>>(Object.create(null))

/** The stream violates RFC 6120, section 11, or exceeds a limit. */
export class StreamParseError extends Error {}

export type StreamParserEvents = {
  /** The stream header arrived. */
  opened(attrs: Readonly<Record<string, string>>): void
  /** @param truncated the stanza was too large, too deep or malformed; its children were dropped */
  stanza(stanza: XmlElement, truncated: boolean): void
  closed(): void
}

type OpenElement = { name: string; ns: string; attrs: Record<string, string>; children: (XmlElement | string)[] }

/** Namespaces of the stream's own stanzas. */
const stanzaNamespaces = new Set(['jabber:client', 'jabber:component:accept', 'jabber:server'])

const attributesOf = ({ attributes }: SaxesTagNS): Record<string, string> => {
  // No prototype: attribute names come from the peer.
  const attrs: Record<string, string> = Object.create(null)
  for (const { name, value } of Object.values<SaxesAttributeNS>(attributes)) {
    if (name !== 'xmlns' && !name.startsWith('xmlns:')) attrs[name] = value
  }
  return attrs
}

/**
 * Parses one XML stream in bounded memory. Document types, entities, comments and processing instructions end the
 * stream (RFC 6120, 11.1).
 */
export class StreamParser {
  private readonly parser = new SaxesParser({ xmlns: true, position: false })
  private readonly decoder = new TextDecoder('utf-8', { fatal: true })
  private readonly events: StreamParserEvents
  /** Open elements, the stanza first; without the stream element and dropped elements. */
  private readonly path: OpenElement[] = []
  private isOpen = false
  private depth = 0
  private length = 0
  private bytesRead = 0
  private elementCount = 0
  private attributeCount = 0
  private truncated = false

  constructor(events: StreamParserEvents) {
    this.events = events
    const fault = (what: string) => () => {
      throw new StreamParseError(what)
    }
    this.parser.on('error', (error) => {
      throw new StreamParseError(error.message)
    })
    this.parser.on('doctype', fault('a document type'))
    this.parser.on('comment', fault('a comment'))
    this.parser.on('processinginstruction', fault('a processing instruction'))
    this.parser.on('opentagstart', () => {
      this.attributeCount = 0
    })
    this.parser.on('attribute', () => this.countAttribute())
    this.parser.on('opentag', (tag) => this.openElement(tag))
    this.parser.on('closetag', () => this.closeElement())
    this.parser.on('text', (addText) => this.text(addText))
    this.parser.on('cdata', (text) => this.text(text))
  }

  /**
   * @throws StreamParseError when the bytes are not a valid XMPP stream; the affected stanza is emitted first,
   * truncated
   */
  write(bytes: Uint8Array): void {
    try {
      this.bytesRead += bytes.length
      if (this.bytesRead > maxStanzaBytes) throw new StreamParseError('a stanza of more than 4 MiB')
      this.parser.write(this.decode(bytes))
    } catch (error) {
      const [stanza] = this.path.splice(0)
      // The stanza counts as received. Otherwise the server would resend it after every resumption (XEP-0198, 5).
      if (error instanceof StreamParseError && stanza) this.events.stanza({ ...stanza, children: [] }, true)
      throw error
    }
  }

  private decode(bytes: Uint8Array): string {
    try {
      return this.decoder.decode(bytes, { stream: true })
    } catch {
      throw new StreamParseError('bytes that are no UTF-8')
    }
  }

  private countAttribute(): void {
    if (++this.attributeCount <= maxAttributes) return
    this.truncated = true
    // saxes offers no other way to drop an attribute.
    const listed: unknown = Reflect.get(this.parser, 'attribList')
    if (Array.isArray(listed)) listed.pop()
  }

  private openElement(tag: SaxesTagNS): void {
    if (!this.isOpen) {
      if (tag.local !== 'stream' || tag.uri !== 'http://etherx.jabber.org/streams')
        throw new StreamParseError('no stream')
      this.isOpen = true
      this.events.opened(attributesOf(tag))
      return
    }
    this.depth++
    this.elementCount++
    if (this.depth > maxDepth || this.elementCount > maxElements) this.truncated = true
    if (this.truncated && this.depth > 1) {
      if (this.depth > maxDepth) tag.ns = anyNamespace
      tag.attributes = noAttributes
      return
    }
    const attrs = attributesOf(tag)
    this.grow(Object.values(attrs).reduce((sum, value) => sum + value.length, tag.name.length))
    if (this.truncated && this.depth > 1) return
    const element = { name: tag.local, ns: stanzaNamespaces.has(tag.uri) ? '' : tag.uri, attrs, children: [] }
    this.path.at(-1)?.children.push(element)
    this.path.push(element)
  }

  private closeElement(): void {
    if (this.depth === 0) {
      this.events.closed()
      return
    }
    const ended = this.path.length === this.depth ? this.path.pop() : undefined
    this.depth--
    if (this.depth > 0 || !ended) return
    const { truncated } = this
    this.length = 0
    this.bytesRead = 0
    this.elementCount = 0
    this.truncated = false
    this.events.stanza(truncated ? { ...ended, children: [] } : ended, truncated)
  }

  private text(text: string): void {
    // White space between stanzas is a keepalive (RFC 6120, 4.6.1).
    if (this.depth === 0) {
      this.bytesRead = 0
      return
    }
    this.grow(text.length)
    if (!this.truncated) this.path.at(-1)?.children.push(text)
  }

  private grow(by: number): void {
    this.length += by
    if (this.length > maxStanzaLength) this.truncated = true
  }
}
