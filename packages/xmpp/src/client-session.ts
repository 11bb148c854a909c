import { IqRequests, type IqResult } from './iq-requests.ts'
import { type Credentials, logIn } from './login.ts'
import { ns } from './namespaces.ts'
import { conditionOf, Stream, StreamError, streamErrorOf } from './stream.ts'
import { StreamManagement } from './stream-management.ts'
import { type BackOff, type Delivery, pingTimeoutMs, requestTimeoutMs, type Wire } from './wire.ts'
import { child, descendant, textOf, type XmlElement, xml } from './xml.ts'
import type { XmppSettings } from './xmpp-settings.ts'

/** A login that lasted this long, in milliseconds, resets the back-off. */
const stableAfterMs = 10_000

/** Maximum stanzas whose persistence is pending; above it, reading pauses. */
const maxUnprocessed = 200

/** Unanswered pings in a row after which the link is replaced. */
const maxMissedPings = 2

export type ClientSessionEvents = {
  /** @param resumed the stream continues: the server still knows our presence, and nothing was missed */
  up(resumed: boolean): void
  /** A stanza that is not a response. It counts as received after the promise resolves. */
  stanza(stanza: XmlElement, cut: boolean): Promise<void>
  /** The server accepted the message with this id. */
  accepted(id: string): void
  down(reason: string, fatal: boolean): void
}

/** A login of an account, reconnected until it is closed. */
export class ClientSession implements Wire {
  readonly self: string
  private readonly settings: XmppSettings
  private readonly account: Credentials
  private readonly events: ClientSessionEvents
  private readonly requests = new IqRequests()
  private readonly management: StreamManagement
  private readonly backOff: BackOff
  private stream: Stream | null = null
  private timer: NodeJS.Timeout | null = null
  private upSince: number | null = null
  private unprocessed = 0
  private missedPings = 0
  private isClosed = false

  constructor(settings: XmppSettings, account: Credentials, events: ClientSessionEvents, backOff: BackOff) {
    this.settings = settings
    this.account = account
    this.events = events
    this.self = `${account.user}@${settings.domain}`
    this.backOff = backOff
    this.management = new StreamManagement((element) => this.stream?.send(element), events.accepted)
  }

  get isUp(): boolean {
    return this.upSince !== null
  }

  connect(): void {
    const stream: Stream = new Stream(this.settings, 'jabber:client', this.settings.domain, {
      stanza: (stanza, cut) => this.handleStanza(stanza, cut),
      idle: () => void this.ping(),
      closed: (reason, fatal) => this.down(stream, reason, fatal),
    })
    this.stream = stream
    this.open(stream).catch((error: unknown) => {
      const { message, fatal } = streamErrorOf(error)
      this.down(stream, message, fatal)
      stream.destroy(message)
    })
  }

  send(stanza: XmlElement): boolean {
    if (!this.isUp || this.management.isFull) return false
    this.management.send(stanza)
    return true
  }

  request(iq: XmlElement, milliseconds = requestTimeoutMs): Promise<IqResult> {
    return this.requests.request(iq, this.self, milliseconds, (whole) => this.send(whole))
  }

  async deliver(message: XmlElement): Promise<Delivery> {
    if (!this.isUp || this.management.isFull) return 'unsent'
    if (this.management.isOn) return this.management.deliver(message)
    // The server processes stanzas in order, so an answered ping proves the message (RFC 6120, 10.1).
    this.send(message)
    return (await this.ping()) ? 'accepted' : 'lost'
  }

  /** Any response proves a round trip, an error too. */
  async ping(): Promise<boolean> {
    const { stream } = this
    const iq = xml('iq', '', { type: 'get', to: this.settings.domain }, xml('ping', ns.ping))
    const answer = await this.request(iq, pingTimeoutMs)
    if (answer.outcome !== 'lost') this.missedPings = 0
    else if (stream && stream === this.stream && this.isUp && ++this.missedPings >= maxMissedPings) {
      stream.destroy('the server stopped responding')
    }
    return answer.outcome !== 'lost'
  }

  close(): void {
    this.isClosed = true
    if (this.timer) clearTimeout(this.timer)
    this.stream?.close()
    this.requests.failAll('closed')
    this.management.reset(false, null)
  }

  private async open(stream: Stream): Promise<void> {
    const wantsTls = (this.settings.encryption ?? 'starttls') === 'starttls'
    const offered = await logIn(stream, this.account, wantsTls)
    const canManage = child(offered, 'sm', ns.management) !== undefined
    const isResumed = canManage && (await this.resume(stream))
    if (!isResumed) await this.bind(stream, canManage)
    if (this.isClosed) return stream.close()
    this.upSince = performance.now()
    this.missedPings = 0
    this.events.up(isResumed)
    stream.begin()
  }

  private async resume(stream: Stream): Promise<boolean> {
    if (this.management.resumption === null) return false
    // Handles what arrived over the broken stream before reporting the count to the server.
    while (!this.management.isIdle && this.unprocessed > 0) await new Promise((resolve) => setTimeout(resolve, 20))
    stream.send(this.management.resume())
    const answer = await stream.next()
    if (answer.name === 'resumed') this.management.resumed(answer)
    else this.management.acknowledge(answer)
    return answer.name === 'resumed'
  }

  /** Binds our fixed resource; a stale login with the same resource is replaced (RFC 6120, 7). */
  private async bind(stream: Stream, canManage: boolean): Promise<void> {
    this.requests.failAll('the link broke')
    const resource = xml('bind', ns.bind, {}, xml('resource', ns.bind, {}, 'trunkline'))
    stream.send(xml('iq', '', { type: 'set', id: 'bind' }, resource))
    const bound = await stream.next()
    if (bound.attrs.type !== 'result') throw new StreamError(`no resource: ${conditionOf(bound)}`, false)
    const full = textOf(descendant(bound, ns.bind, 'bind', 'jid'))
    if (!full.startsWith(`${this.self}/`)) throw new StreamError(`the server calls us ${full.slice(0, 100)}`, true)
    if (!canManage) return this.management.reset(false, null)
    stream.send(xml('enable', ns.management, { resume: 'true' }))
    const enabled = await stream.next()
    const canResume = enabled.attrs.resume === 'true' || enabled.attrs.resume === '1'
    this.management.reset(enabled.name === 'enabled', canResume ? (enabled.attrs.id ?? null) : null)
  }

  private handleStanza(stanza: XmlElement, cut: boolean): void {
    if (stanza.ns === ns.management) this.management.handleElement(stanza)
    if (stanza.ns !== '') return
    const done = this.management.receive()
    if (stanza.name === 'iq' && this.requests.takeResponse(stanza, cut)) {
      done()
      return
    }
    this.unprocessed++
    if (this.unprocessed > maxUnprocessed && this.stream) this.stream.isPaused = true
    void this.events.stanza(stanza, cut).then(() => {
      this.unprocessed--
      done()
      if (this.unprocessed === maxUnprocessed >> 1 && this.stream) this.stream.isPaused = false
    })
  }

  private down(stream: Stream, reason: string, fatal: boolean): void {
    if (stream !== this.stream) return
    this.stream = null
    if (this.upSince !== null && performance.now() - this.upSince > stableAfterMs) this.backOff.reset()
    this.upSince = null
    // Responses arrive after the resumption, or their timeouts expire.
    if (this.management.resumption === null) this.requests.failAll(reason)
    this.events.down(reason, fatal)
    if (this.isClosed || fatal) return
    this.timer = setTimeout(() => this.connect(), this.backOff.next())
  }
}
