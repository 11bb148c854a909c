import { createHash } from 'node:crypto'
import { BackOff } from '../../lib/backoff.ts'
import { ns } from './codec/names.ts'
import { type Xml, xml } from './codec/xml.ts'
import { type Answer, Requests } from './requests.ts'
import type { XmppSettings } from './settings.ts'
import { conditionOf, Refused, refusedOf, Stream } from './stream.ts'
import { type Delivery, pingMs, requestMs, type Wire } from './wire.ts'

const steadyMs = 10_000

/** Stanzas that may wait until they are kept: then reading waits. */
const mostUndone = 500

const mostMissed = 2

export type ComponentEvents = {
  up(): void
  /** A stanza that is no answer, and whom it is to. */
  stanza(stanza: Xml, cut: boolean): Promise<void>
  down(reason: string, fatal: boolean): void
}

/** One link as a part of the server, for all addresses under ours (XEP-0114). */
export class Component {
  readonly domain: string
  private readonly settings: XmppSettings
  private readonly events: ComponentEvents
  private readonly requests = new Requests()
  private readonly backOff: BackOff
  private stream: Stream | null = null
  private timer: NodeJS.Timeout | null = null
  private upSince: number | null = null
  private undone = 0
  private missed = 0
  private isClosed = false
  private turn: Promise<boolean> | null = null
  private proof: Promise<boolean> | null = null

  constructor(settings: XmppSettings, events: ComponentEvents) {
    this.settings = settings
    this.domain = settings.component ?? ''
    this.events = events
    this.backOff = new BackOff(settings.host, settings.reconnect_seconds)
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
        stanza: (stanza, cut) => this.take(stanza, cut),
        quiet: () => void this.ping(),
        closed: (reason, fatal) => this.down(stream, reason, fatal),
      },
    )
    this.stream = stream
    this.open(stream).catch((error: unknown) => {
      const { message, fatal } = refusedOf(error)
      this.down(stream, message, fatal)
      stream.destroy(message)
    })
  }

  /** @param stanza with its `from`, which is ours to choose */
  send(stanza: Xml): boolean {
    if (!this.isUp) return false
    this.stream?.send(stanza)
    return true
  }

  request(iq: Xml, milliseconds = requestMs): Promise<Answer> {
    return this.requests.ask(iq, iq.attrs.from ?? this.domain, milliseconds, (whole) => this.send(whole))
  }

  /**
   * Components have no stream management: a ping that comes back after the message tells that the server had got to it
   * (RFC 6120, 10.1: it takes stanzas in their order). One ping serves all messages of a turn.
   */
  async deliver(message: Xml): Promise<Delivery> {
    if (!this.send(message)) return 'unsent'
    this.turn ??= new Promise((resolve) => {
      setImmediate(() => {
        this.turn = null
        resolve(this.ask(requestMs))
      })
    })
    return (await this.turn) ? 'accepted' : 'lost'
  }

  /** Those who ask at the same time share one. */
  ping(): Promise<boolean> {
    this.proof ??= this.askOnce().finally(() => {
      this.proof = null
    })
    return this.proof
  }

  /** The way of one address of ours. */
  wire(local: string): Wire {
    const self = `${local}@${this.domain}`
    const from = (stanza: Xml): Xml => ({ ...stanza, attrs: { from: `${self}/trunkline`, ...stanza.attrs } })
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
    this.requests.lose('closed')
  }

  private async askOnce(): Promise<boolean> {
    const { stream } = this
    const isBack = await this.ask(pingMs)
    if (isBack) this.missed = 0
    else if (stream && stream === this.stream && this.isUp && ++this.missed >= mostMissed) {
      stream.destroy('the server is mute')
    }
    return isBack
  }

  /** Any answer is a round trip, a refusal too. */
  private async ask(milliseconds: number): Promise<boolean> {
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
    if (answer.name !== 'handshake') throw new Refused(`refused: ${conditionOf(answer)}`, false)
    if (this.isClosed) return stream.close()
    this.upSince = performance.now()
    this.missed = 0
    this.events.up()
    stream.begin()
  }

  private take(stanza: Xml, cut: boolean): void {
    if (stanza.ns !== '') return
    if (stanza.name === 'iq' && this.requests.take(stanza, cut)) return
    this.undone++
    if (this.undone > mostUndone && this.stream) this.stream.isPaused = true
    void this.events.stanza(stanza, cut).then(() => {
      this.undone--
      if (this.undone === mostUndone >> 1 && this.stream) this.stream.isPaused = false
    })
  }

  private down(stream: Stream, reason: string, fatal: boolean): void {
    if (stream !== this.stream) return
    this.stream = null
    if (this.upSince !== null && performance.now() - this.upSince > steadyMs) this.backOff.reset()
    this.upSince = null
    this.requests.lose(reason)
    this.events.down(reason, fatal)
    if (this.isClosed) return
    this.timer = setTimeout(() => this.connect(), this.backOff.next())
  }
}
