import { BackOff } from '../../lib/backoff.ts'
import { ns } from './codec/names.ts'
import { child, textOf, within, type Xml, xml } from './codec/xml.ts'
import { type Account, logIn } from './login.ts'
import { Management } from './management.ts'
import { type Answer, Requests } from './requests.ts'
import type { XmppSettings } from './settings.ts'
import { conditionOf, Refused, refusedOf, Stream } from './stream.ts'
import { type Delivery, pingMs, requestMs, type Wire } from './wire.ts'

/** How long a login must have lasted for the next failure to count as the first. */
const steadyMs = 10_000

/** Stanzas that may wait until they are kept: then reading waits. */
const mostUndone = 200

/** Pings in a row without an answer: then the link is made anew. */
const mostMissed = 2

export type SessionEvents = {
  /** @param resumed the stream goes on: the server knows our presence still, and nothing was missed */
  up(resumed: boolean): void
  /** A stanza that is no answer. It counts as received once the promise resolves. */
  stanza(stanza: Xml, cut: boolean): Promise<void>
  /** The server has the message of this id. */
  accepted(id: string): void
  down(reason: string, fatal: boolean): void
}

/** One login of an account, kept up until it is closed. */
export class Session implements Wire {
  readonly self: string
  private readonly settings: XmppSettings
  private readonly account: Account
  private readonly events: SessionEvents
  private readonly requests = new Requests()
  private readonly management: Management
  private readonly backOff: BackOff
  private stream: Stream | null = null
  private timer: NodeJS.Timeout | null = null
  private upSince: number | null = null
  private undone = 0
  private missed = 0
  private isClosed = false

  constructor(settings: XmppSettings, account: Account, events: SessionEvents) {
    this.settings = settings
    this.account = account
    this.events = events
    this.self = `${account.user}@${settings.domain}`
    this.backOff = new BackOff(settings.host, settings.reconnect_seconds)
    this.management = new Management((element) => this.stream?.send(element), events.accepted)
  }

  get isUp(): boolean {
    return this.upSince !== null
  }

  connect(): void {
    const stream: Stream = new Stream(this.settings, 'jabber:client', this.settings.domain, {
      stanza: (stanza, cut) => this.take(stanza, cut),
      quiet: () => void this.ping(),
      closed: (reason, fatal) => this.down(stream, reason, fatal),
    })
    this.stream = stream
    this.open(stream).catch((error: unknown) => {
      const { message, fatal } = refusedOf(error)
      this.down(stream, message, fatal)
      stream.destroy(message)
    })
  }

  send(stanza: Xml): boolean {
    if (!this.isUp || this.management.isFull) return false
    this.management.send(stanza)
    return true
  }

  request(iq: Xml, milliseconds = requestMs): Promise<Answer> {
    return this.requests.ask(iq, this.self, milliseconds, (whole) => this.send(whole))
  }

  async deliver(message: Xml): Promise<Delivery> {
    if (!this.isUp || this.management.isFull) return 'unsent'
    if (this.management.isOn) return this.management.deliver(message)
    // The server has got to the message once it answers what was asked after it (RFC 6120, 10.1).
    this.send(message)
    return (await this.ping()) ? 'accepted' : 'lost'
  }

  /** Any answer is a round trip, a refusal too. */
  async ping(): Promise<boolean> {
    const { stream } = this
    const iq = xml('iq', '', { type: 'get', to: this.settings.domain }, xml('ping', ns.ping))
    const answer = await this.request(iq, pingMs)
    if (answer.outcome !== 'lost') this.missed = 0
    else if (stream && stream === this.stream && this.isUp && ++this.missed >= mostMissed) {
      stream.destroy('the server is mute')
    }
    return answer.outcome !== 'lost'
  }

  close(): void {
    this.isClosed = true
    if (this.timer) clearTimeout(this.timer)
    this.stream?.close()
    this.requests.lose('closed')
    this.management.renew(false, null)
  }

  private async open(stream: Stream): Promise<void> {
    const wantsTls = (this.settings.encryption ?? 'starttls') === 'starttls'
    const offered = await logIn(stream, this.account, wantsTls)
    const canManage = child(offered, 'sm', ns.management) !== undefined
    const isResumed = canManage && (await this.resume(stream))
    if (!isResumed) await this.bind(stream, canManage)
    if (this.isClosed) return stream.close()
    this.upSince = performance.now()
    this.missed = 0
    this.events.up(isResumed)
    stream.begin()
  }

  private async resume(stream: Stream): Promise<boolean> {
    if (this.management.resumption === null) return false
    // What came over the broken stream is done with before the server is told how much that was.
    while (!this.management.isIdle && this.undone > 0) await new Promise((resolve) => setTimeout(resolve, 20))
    stream.send(this.management.resume())
    const answer = await stream.next()
    if (answer.name === 'resumed') this.management.resumed(answer)
    else this.management.acknowledge(answer)
    return answer.name === 'resumed'
  }

  /** Asks for the resource that is ours alone: a login that still hangs about gives way (RFC 6120, 7). */
  private async bind(stream: Stream, canManage: boolean): Promise<void> {
    this.requests.lose('the link broke')
    const resource = xml('bind', ns.bind, {}, xml('resource', ns.bind, {}, 'trunkline'))
    stream.send(xml('iq', '', { type: 'set', id: 'bind' }, resource))
    const bound = await stream.next()
    if (bound.attrs.type !== 'result') throw new Refused(`no resource: ${conditionOf(bound)}`, false)
    const full = textOf(within(bound, ns.bind, 'bind', 'jid'))
    if (!full.startsWith(`${this.self}/`)) throw new Refused(`the server calls us ${full.slice(0, 100)}`, true)
    if (!canManage) return this.management.renew(false, null)
    stream.send(xml('enable', ns.management, { resume: 'true' }))
    const enabled = await stream.next()
    const canResume = enabled.attrs.resume === 'true' || enabled.attrs.resume === '1'
    this.management.renew(enabled.name === 'enabled', canResume ? (enabled.attrs.id ?? null) : null)
  }

  private take(stanza: Xml, cut: boolean): void {
    if (stanza.ns === ns.management) this.management.take(stanza)
    if (stanza.ns !== '') return
    const done = this.management.receive()
    if (stanza.name === 'iq' && this.requests.take(stanza, cut)) {
      done()
      return
    }
    this.undone++
    if (this.undone > mostUndone && this.stream) this.stream.isPaused = true
    void this.events.stanza(stanza, cut).then(() => {
      this.undone--
      done()
      if (this.undone === mostUndone >> 1 && this.stream) this.stream.isPaused = false
    })
  }

  private down(stream: Stream, reason: string, fatal: boolean): void {
    if (stream !== this.stream) return
    this.stream = null
    if (this.upSince !== null && performance.now() - this.upSince > steadyMs) this.backOff.reset()
    this.upSince = null
    // Answers over this link come after it is resumed, or never: their time runs out then.
    if (this.management.resumption === null) this.requests.lose(reason)
    this.events.down(reason, fatal)
    if (this.isClosed || fatal) return
    this.timer = setTimeout(() => this.connect(), this.backOff.next())
  }
}
