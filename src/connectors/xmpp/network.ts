import { randomBytes } from 'node:crypto'
import type { ChatLine, ChatNetwork, ChatTools } from '../chat-port.ts'
import type { LinkState } from '../port.ts'
import { makeAddresses } from './addresses.ts'
import { type Administration, checkNumbers, commandOf, noteOf } from './checks.ts'
import { parseJid } from './codec/jid.ts'
import type { Xml } from './codec/xml.ts'
import { Component } from './component.ts'
import { changeGroup, createGroup, listGroups } from './groups.ts'
import { Line } from './line.ts'
import { keepPassword, openMemory, passwordOf } from './memory.ts'
import { keepInRoster, pictureFault, publishPicture, typeOfImage } from './profile.ts'
import { markRead, remove, send } from './sending.ts'
import { makeServices } from './services.ts'
import { Session } from './session.ts'
import type { XmppSettings } from './settings.ts'
import { refusal } from './stream.ts'
import { requestMs } from './wire.ts'

/** One number while it is attached. */
type Attached = { readonly of: ChatLine; line: Line | null; session: Session | null; isOver: boolean }

const gone = { outcome: 'later', seconds: 1, reason: 'the number is not linked' } as const

/** Lines on an XMPP server: each with a login of its own, or all of them over one link of a component. */
export class XmppNetwork implements ChatNetwork {
  private readonly settings: XmppSettings
  private readonly tools: ChatTools
  private readonly lines = new Map<string, Attached>()
  private readonly byNumber = new Map<string, Attached>()
  private readonly component: Component | null
  private readonly admin: Session | null
  private readonly services
  private readonly addresses
  private since = Date.now()
  private lastError: string | null = null
  private isClosed = false
  private submitted = 0
  private inFlight = 0

  constructor(settings: XmppSettings, tools: ChatTools) {
    this.settings = settings
    this.tools = tools
    this.services = makeServices(settings)
    this.addresses = makeAddresses(settings, (number) => this.byNumber.has(number))
    const { admin, admin_password: password } = settings
    this.component = settings.mode === 'component' ? this.startComponent() : null
    this.admin = this.component || !admin || !password ? null : this.startAdmin({ user: admin, password })
  }

  attach(line: ChatLine): void {
    const attached: Attached = { of: line, line: null, session: null, isOver: false }
    this.lines.set(line.channel, attached)
    this.byNumber.set(line.number, attached)
    this.tools.events.line(line.channel, { phase: 'connecting', reason: 'linking', fatal: false })
    void this.open(attached)
  }

  async detach(channel: string, logout: boolean): Promise<void> {
    const attached = this.lines.get(channel)
    if (!attached) return
    this.lines.delete(channel)
    this.byNumber.delete(attached.of.number)
    this.end(attached)
    if (logout) await this.tools.vault.forget(channel)
  }

  prove(channel: string): Promise<boolean> {
    const wire = this.lines.get(channel)?.line?.parts.wire
    return wire?.isUp ? wire.ping() : Promise.resolve(false)
  }

  async send(channel: string, message: Parameters<ChatNetwork['send']>[1]) {
    const line = this.lineOf(channel)
    if (!line) return gone
    this.inFlight++
    const sent = await send(line, message, this.settings)
    this.inFlight--
    if (sent.outcome === 'done') this.submitted++
    return sent
  }

  async check(channel: string, numbers: readonly string[], extra: boolean) {
    const line = this.lineOf(channel)
    const nothing = { there: 'unknown', id: null, picture: null, pushname: null, status: null, business: null } as const
    if (!line?.parts.wire.isUp) return numbers.map((number) => ({ number, ...nothing }))
    const { wire, addresses } = line.parts
    return checkNumbers(wire, addresses, numbers, extra, (number) => line.exists(number))
  }

  async setPicture(channel: string, image: Buffer | null) {
    const line = this.lineOf(channel)
    if (!line) return gone
    const fault = image && pictureFault(image)
    if (fault) return { outcome: 'refused', reason: fault } as const
    if (!this.component) return publishPicture(line.parts.wire, image)
    await line.parts.memory.setImage(image, image && typeOfImage(image))
    await line.show()
    return { outcome: 'done', value: null } as const
  }

  async setStatus(channel: string, text: string) {
    const line = this.lineOf(channel)
    if (!line) return gone
    await line.parts.memory.change({ status: text })
    await line.show()
    return { outcome: 'done', value: null } as const
  }

  async createGroup(channel: string, group: Parameters<typeof createGroup>[1]) {
    const line = this.lineOf(channel)
    return line ? createGroup(line.groups, group) : gone
  }

  async groups(channel: string) {
    const line = this.lineOf(channel)
    return line ? listGroups(line.groups) : gone
  }

  async changeGroup(channel: string, group: string, change: Parameters<typeof changeGroup>[2]) {
    const line = this.lineOf(channel)
    return line ? changeGroup(line.groups, group, change) : gone
  }

  async keepContact(
    channel: string,
    { number, firstName, lastName }: Parameters<NonNullable<ChatNetwork['keepContact']>>[1],
  ) {
    const line = this.lineOf(channel)
    if (!line) return gone
    if (this.component) return { outcome: 'refused', reason: 'a component has no list of contacts' } as const
    return keepInRoster(line.parts.wire, this.addresses.jidOf(number), `${firstName} ${lastName}`.trim())
  }

  async markRead(channel: string, from: Parameters<typeof markRead>[1], ids: readonly string[]) {
    const line = this.lineOf(channel)
    return line ? markRead(line, from, ids) : gone
  }

  async remove(channel: string, from: Parameters<typeof remove>[1], id: string) {
    const line = this.lineOf(channel)
    return line ? remove(line, from, id) : gone
  }

  state(): LinkState {
    const wires = this.component ? [this.component] : [...this.lines.values()].map(({ session }) => session)
    const isUp = wires.some((wire) => wire?.isUp === true)
    const state = this.isClosed ? 'closed' : isUp ? 'up' : this.lines.size > 0 || this.component ? 'down' : 'connecting'
    return { state, since: this.since, lastError: this.lastError, inFlight: this.inFlight, submitted: this.submitted }
  }

  async close(): Promise<void> {
    this.isClosed = true
    for (const attached of this.lines.values()) this.end(attached)
    this.lines.clear()
    this.byNumber.clear()
    this.component?.close()
    this.admin?.close()
  }

  private lineOf(channel: string): Line | null {
    return this.lines.get(channel)?.line ?? null
  }

  private end(attached: Attached): void {
    attached.isOver = true
    attached.line?.close()
    attached.session?.close()
  }

  private changed(lastError: string | null): void {
    this.since = Date.now()
    if (lastError && lastError !== this.lastError) this.tools.log('down', { reason: lastError })
    this.lastError = lastError
  }

  private startComponent(): Component {
    const component: Component = new Component(this.settings, {
      up: () => {
        this.changed(null)
        for (const { line } of this.lines.values()) void line?.up(false)
      },
      stanza: (stanza, cut) => this.route(component, stanza, cut),
      down: (reason, fatal) => {
        this.changed(reason)
        for (const { line } of this.lines.values()) line?.down(reason, fatal)
      },
    })
    component.connect()
    return component
  }

  /** What came for one of our numbers goes to it. To others, senders are told that nobody is there. */
  private async route(component: Component, stanza: Xml, cut: boolean): Promise<void> {
    const { local } = parseJid(stanza.attrs.to ?? '')
    const line = this.byNumber.get(`+${local}`)?.line
    if (line) return line.stanza(stanza, cut)
    const { type } = stanza.attrs
    const wantsAnswer = stanza.name === 'iq' ? type === 'get' || type === 'set' : stanza.name === 'message'
    if (wantsAnswer && type !== 'error') component.send(refusal(stanza, 'cancel', 'item-not-found'))
  }

  private startAdmin(account: { user: string; password: string }): Session {
    const session = new Session(this.settings, account, {
      up: () => {},
      stanza: async () => {},
      accepted: () => {},
      down: (reason) => this.tools.log('admin-down', { reason }),
    })
    session.connect()
    return session
  }

  private administration(): Administration | null {
    const { component, admin, settings } = this
    const to = settings.domain
    if (admin) return (node, fields) => admin.request(commandOf(to, node, fields))
    if (!component || !settings.admin) return null
    const from = `${settings.admin}@${component.domain}`
    return (node, fields) => {
      const command = commandOf(to, node, fields)
      return component.request({ ...command, attrs: { ...command.attrs, from } }, requestMs)
    }
  }

  private async open(attached: Attached): Promise<void> {
    const { channel } = attached.of
    try {
      await (this.component ? this.openOnComponent(attached, this.component) : this.openSession(attached))
    } catch (error) {
      if (attached.isOver) return
      const reason = error instanceof Error ? error.message : String(error)
      this.tools.events.line(channel, { phase: 'disconnected', reason, fatal: false })
      setTimeout(() => !attached.isOver && void this.open(attached), 2_000)
    }
  }

  private async makeLine(attached: Attached, wire: Line['parts']['wire']): Promise<Line> {
    const { tools, addresses, services } = this
    const memory = await openMemory(tools.vault, attached.of.channel)
    const isComponent = this.component !== null
    const administration = this.administration()
    return new Line({ line: attached.of, tools, wire, addresses, memory, isComponent, administration, services })
  }

  private async openOnComponent(attached: Attached, component: Component): Promise<void> {
    const line = await this.makeLine(attached, component.wire(attached.of.number.slice(1)))
    if (attached.isOver) return
    attached.line = line
    if (component.isUp) await line.up(false)
  }

  private async openSession(attached: Attached): Promise<void> {
    const user = attached.of.number.slice(1)
    const password = this.settings.password ?? (await this.ownPassword(attached.of))
    if (password === null) {
      const reason = 'the connection has neither a password nor an administrator that could make the account'
      this.tools.events.line(attached.of.channel, { phase: 'failed', reason, fatal: true })
      return
    }
    const session: Session = new Session(
      this.settings,
      { user, password },
      {
        up: (resumed) => {
          this.changed(null)
          void attached.line?.up(resumed)
        },
        stanza: async (stanza, cut) => attached.line?.stanza(stanza, cut),
        accepted: (id) => attached.line?.intake.known.set(id, Date.now()),
        down: (reason, fatal) => {
          this.changed(reason)
          if (!attached.isOver) attached.line?.down(reason, fatal)
        },
      },
    )
    attached.line = await this.makeLine(attached, session)
    if (attached.isOver) return
    attached.session = session
    session.connect()
  }

  /** The password of an account that our administrator makes. @throws Error when that is not possible now */
  private async ownPassword({ channel, number }: ChatLine): Promise<string | null> {
    const ask = this.administration()
    if (!ask) return null
    let password = await passwordOf(this.tools.vault, channel)
    if (password === null) {
      password = randomBytes(24).toString('base64url')
      // Kept first: an account whose password nobody knows would be lost.
      await keepPassword(this.tools.vault, channel, password)
    }
    const accountjid = `${number.slice(1)}@${this.settings.domain}`
    const answer = await ask('add-user', { accountjid, password, 'password-verify': password })
    if (answer.outcome !== 'result') throw new Error(`the administrator could not make the account: ${answer.reason}`)
    const note = noteOf(answer)
    if (note !== null && !/exist/i.test(note)) throw new Error(`the account was not made: ${note}`)
    return password
  }
}
