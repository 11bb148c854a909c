import { createHash } from 'node:crypto'
import { IqRequests, type IqResult } from './iq-requests.ts'
import { ns } from './namespaces.ts'
import { conditionOf, Stream, StreamError, streamErrorOf } from './stream.ts'
import { type BackOff, type Delivery, pingTimeoutMs, requestTimeoutMs, type Wire } from './wire.ts'
import { type XmlElement, xml } from './xml.ts'
import type { XmppSettings } from './xmpp-settings.ts'

const stableAfterMs = 10_000

/** Maximum stanzas whose persistence is pending; above it, reading pauses. */
const maxUnprocessed = 500

const maxMissedPings = 2

export type ComponentEvents = {
  up(): void
  /** A stanza that is not a response, with its addressee. */
  stanza(stanza: XmlElement, cut: boolean): Promise<void>
  down(reason: string, fatal: boolean): void
}

/** A link to the server as a component, for all addresses of its domain (XEP-0114). */
export class Component {
  readonly domain: string
  private readonly settings: XmppSettings
  private readonly events: ComponentEvents
  private readonly requests = new IqRequests()
  private readonly backOff: BackOff
  private stream: Stream | null = null
  private timer: NodeJS.Timeout | null = null
  private upSince: number | null = null
  private unprocessed = 0
  private missedPings = 0
  private isClosed = false
  private deliveryPing: Promise<boolean> | null = null
  private sharedPing: Promise<boolean> | null = null

  constructor(settings: XmppSettings, events: ComponentEvents, backOff: BackOff) {
    this.settings = settings
    this.domain = settings.component ?? ''
    this.events = events
    this.backOff = backOff
  }

  get isUp(): boolean {
    return this.upSince !== null
  }

  connect(): void {
    const stream: Stream = new Stream(
      { ...this.settings, encryption: this.settings.encryption ?? 'none' },
      'jabber:component:accept',
      this.domain,
      {
        stanza: (stanza, cut) => this.handleStanza(stanza, cut),
        idle: () => void this.ping(),
        closed: (reason, fatal) => this.down(stream, reason, fatal),
      },
    )
    this.stream = stream
    this.open(stream).catch((error: unknown) => {
      const { message, fatal } = streamErrorOf(error)
      this.down(stream, message, fatal)
      stream.destroy(message)
    })
  }

  /** @param stanza may carry a `from` of our choice */
  send(stanza: XmlElement): boolean {
    if (!this.isUp) return false
    this.stream?.send(stanza)
    return true
  }

  request(iq: XmlElement, milliseconds = requestTimeoutMs): Promise<IqResult> {
    return this.requests.request(iq, iq.attrs.from ?? this.domain, milliseconds, (whole) => this.send(whole))
  }

  /**
   * Components have no stream management. A ping answered after the message proves that the server processed the
   * message: it handles stanzas in order (RFC 6120, 10.1). All messages sent in one event-loop turn share a ping.
   */
  async deliver(message: XmlElement): Promise<Delivery> {
    if (!this.send(message)) return 'unsent'
    this.deliveryPing ??= new Promise((resolve) => {
      setImmediate(() => {
        this.deliveryPing = null
        resolve(this.roundTrip(requestTimeoutMs))
      })
    })
    return (await this.deliveryPing) ? 'accepted' : 'lost'
  }

  /** Pings the server; concurrent callers share one ping. */
  ping(): Promise<boolean> {
    this.sharedPing ??= this.pingOnce().finally(() => {
      this.sharedPing = null
    })
    return this.sharedPing
  }

  /** Returns the wire of one of our addresses. */
  wire(local: string): Wire {
    const self = `${local}@${this.domain}`
    const from = (stanza: XmlElement): XmlElement => ({
      ...stanza,
      attrs: { from: `${self}/trunkline`, ...stanza.attrs },
    })
    const isUp = () => this.isUp
    return {
      self,
      get isUp() {
        return isUp()
      },
      send: (stanza) => this.send(from(stanza)),
      request: (iq, milliseconds) => this.request(from(iq), milliseconds),
      deliver: (message) => this.deliver(from(message)),
      ping: () => this.ping(),
    }
  }

  close(): void {
    this.isClosed = true
    if (this.timer) clearTimeout(this.timer)
    this.stream?.close()
    this.requests.failAll('closed')
  }

  private async pingOnce(): Promise<boolean> {
    const { stream } = this
    const isBack = await this.roundTrip(pingTimeoutMs)
    if (isBack) this.missedPings = 0
    else if (stream && stream === this.stream && this.isUp && ++this.missedPings >= maxMissedPings) {
      stream.destroy('the server is mute')
    }
    return isBack
  }

  /** Any response proves a round trip, an error too. */
  private async roundTrip(milliseconds: number): Promise<boolean> {
    const { domain } = this
    const iq = xml('iq', '', { type: 'get', from: domain, to: this.settings.domain }, xml('ping', ns.ping))
    return (await this.request(iq, milliseconds)).outcome !== 'lost'
  }

  private async open(stream: Stream): Promise<void> {
    const { id = '' } = await stream.open()
    const secret = this.settings.secret ?? ''
    const proof = createHash('sha1').update(`${id}${secret}`).digest('hex')
    stream.send(xml('handshake', '', {}, proof))
    const answer = await stream.next()
    if (answer.name !== 'handshake') throw new StreamError(`refused: ${conditionOf(answer)}`, false)
    if (this.isClosed) return stream.close()
    this.upSince = performance.now()
    this.missedPings = 0
    this.events.up()
    stream.begin()
  }

  private handleStanza(stanza: XmlElement, cut: boolean): void {
    if (stanza.ns !== '') return
    if (stanza.name === 'iq' && this.requests.takeResponse(stanza, cut)) return
    this.unprocessed++
    if (this.unprocessed > maxUnprocessed && this.stream) this.stream.isPaused = true
    void this.events.stanza(stanza, cut).then(() => {
      this.unprocessed--
      if (this.unprocessed === maxUnprocessed >> 1 && this.stream) this.stream.isPaused = false
    })
  }

  private down(stream: Stream, reason: string, fatal: boolean): void {
    if (stream !== this.stream) return
    this.stream = null
    if (this.upSince !== null && performance.now() - this.upSince > stableAfterMs) this.backOff.reset()
    this.upSince = null
    this.requests.failAll(reason)
    this.events.down(reason, fatal)
    if (this.isClosed) return
    this.timer = setTimeout(() => this.connect(), this.backOff.next())
  }
}
