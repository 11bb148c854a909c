import { randomBytes } from 'node:crypto'
import { ClientSession } from '@trunkline/xmpp/client-session.ts'
import { Component } from '@trunkline/xmpp/component.ts'
import { parseJid } from '@trunkline/xmpp/jid.ts'
import { errorResponse } from '@trunkline/xmpp/stream.ts'
import { requestTimeoutMs } from '@trunkline/xmpp/wire.ts'
import type { XmlElement } from '@trunkline/xmpp/xml.ts'
import type { XmppSettings } from '@trunkline/xmpp/xmpp-settings.ts'
import { BackOff } from '../../platform/lib/backoff.ts'
import type { ChatChannel, ChatDeps, ChatNetwork } from '../../ports/chat.ts'
import type { LinkState } from '../../ports/sms.ts'
import { makeAddresses } from './addresses.ts'
import { ChannelSession } from './channel-session.ts'
import { changeGroup, createGroup, listGroups } from './group-operations.ts'
import { type Administration, adminCommand, checkNumbers, ExistenceChecker, errorNoteOf } from './number-checks.ts'
import { openPersistedState, passwordOf, storePassword } from './persisted-state.ts'
import { pictureError, publishPicture, storeInRoster, typeOfImage } from './profile.ts'
import { markRead, remove, send } from './sending.ts'
import { discoverServices } from './service-discovery.ts'

/** A number while it is attached. */
type AttachedNumber = {
  readonly ref: ChatChannel
  session: ChannelSession | null
  login: ClientSession | null
  isDetached: boolean
}

const notLinked = { outcome: 'later', seconds: 1, reason: 'the number is not linked' } as const

/** Numbers on an XMPP server: each with its own login, or all over one component link. */
export class XmppNetwork implements ChatNetwork {
  private readonly settings: XmppSettings
  private readonly tools: ChatDeps
  private readonly byChannel = new Map<string, AttachedNumber>()
  private readonly byNumber = new Map<string, AttachedNumber>()
  private readonly component: Component | null
  private readonly admin: ClientSession | null
  private readonly existenceChecker = new ExistenceChecker()
  private readonly services
  private readonly addresses
  private since = Date.now()
  private lastError: string | null = null
  private isClosed = false
  private submitted = 0
  private inFlight = 0

  constructor(settings: XmppSettings, tools: ChatDeps) {
    this.settings = settings
    this.tools = tools
    this.services = discoverServices(settings)
    this.addresses = makeAddresses(settings, (number) => this.byNumber.has(number))
    const { admin, admin_password: password } = settings
    this.component = settings.mode === 'component' ? this.startComponent() : null
    this.admin = this.component || !admin || !password ? null : this.startAdmin({ user: admin, password })
  }

  attach(line: ChatChannel): void {
    const attached: AttachedNumber = { ref: line, session: null, login: null, isDetached: false }
    this.byChannel.set(line.channel, attached)
    this.byNumber.set(line.number, attached)
    this.tools.events.line(line.channel, { phase: 'connecting', reason: 'linking', fatal: false })
    void this.open(attached)
  }

  async detach(channel: string, logout: boolean): Promise<void> {
    const attached = this.byChannel.get(channel)
    if (!attached) return
    this.byChannel.delete(channel)
    this.byNumber.delete(attached.ref.number)
    this.detachNumber(attached)
    if (logout) await this.tools.credentials.forget(channel)
  }

  ping(channel: string): Promise<boolean> {
    const wire = this.byChannel.get(channel)?.session?.deps.wire
    return wire?.isUp ? wire.ping() : Promise.resolve(false)
  }

  async send(channel: string, message: Parameters<ChatNetwork['send']>[1]) {
    const line = this.sessionOf(channel)
    if (!line) return notLinked
    this.inFlight++
    const sent = await send(line, message, this.settings)
    this.inFlight--
    if (sent.outcome === 'done') this.submitted++
    return sent
  }

  async check(channel: string, numbers: readonly string[], extra: boolean) {
    const line = this.sessionOf(channel)
    const nothing = { there: 'unknown', id: null, picture: null, pushname: null, status: null, business: null } as const
    if (!line?.deps.wire.isUp) return numbers.map((number) => ({ number, ...nothing }))
    const { wire, addresses } = line.deps
    return checkNumbers(wire, addresses, numbers, extra, (number) => line.exists(number))
  }

  async setPicture(channel: string, image: Buffer | null) {
    const line = this.sessionOf(channel)
    if (!line) return notLinked
    const fault = image && pictureError(image)
    if (fault) return { outcome: 'refused', reason: fault } as const
    if (!this.component) return publishPicture(line.deps.wire, image)
    await line.deps.state.setImage(image, image && typeOfImage(image))
    await line.broadcastPresence()
    return { outcome: 'done', value: null } as const
  }

  async setStatus(channel: string, text: string) {
    const line = this.sessionOf(channel)
    if (!line) return notLinked
    await line.deps.state.change({ status: text })
    await line.broadcastPresence()
    return { outcome: 'done', value: null } as const
  }

  async createGroup(channel: string, group: Parameters<typeof createGroup>[1]) {
    const line = this.sessionOf(channel)
    return line ? createGroup(line.groups, group) : notLinked
  }

  async groups(channel: string) {
    const line = this.sessionOf(channel)
    return line ? listGroups(line.groups) : notLinked
  }

  async changeGroup(channel: string, group: string, change: Parameters<typeof changeGroup>[2]) {
    const line = this.sessionOf(channel)
    return line ? changeGroup(line.groups, group, change) : notLinked
  }

  async saveContact(
    channel: string,
    { number, firstName, lastName }: Parameters<NonNullable<ChatNetwork['saveContact']>>[1],
  ) {
    const line = this.sessionOf(channel)
    if (!line) return notLinked
    if (this.component) return { outcome: 'refused', reason: 'a component has no roster' } as const
    return storeInRoster(line.deps.wire, this.addresses.jidOf(number), `${firstName} ${lastName}`.trim())
  }

  async markRead(channel: string, from: Parameters<typeof markRead>[1], ids: readonly string[]) {
    const line = this.sessionOf(channel)
    return line ? markRead(line, from, ids) : notLinked
  }

  async remove(channel: string, from: Parameters<typeof remove>[1], id: string) {
    const line = this.sessionOf(channel)
    return line ? remove(line, from, id) : notLinked
  }

  state(): LinkState {
    const wires = this.component ? [this.component] : [...this.byChannel.values()].map(({ login }) => login)
    const isUp = wires.some((wire) => wire?.isUp === true)
    const state = this.isClosed
      ? 'closed'
      : isUp
        ? 'up'
        : this.byChannel.size > 0 || this.component
          ? 'down'
          : 'connecting'
    return { state, since: this.since, lastError: this.lastError, inFlight: this.inFlight, submitted: this.submitted }
  }

  async close(): Promise<void> {
    this.isClosed = true
    for (const attached of this.byChannel.values()) this.detachNumber(attached)
    this.byChannel.clear()
    this.byNumber.clear()
    this.component?.close()
    this.admin?.close()
  }

  private sessionOf(channel: string): ChannelSession | null {
    return this.byChannel.get(channel)?.session ?? null
  }

  private detachNumber(attached: AttachedNumber): void {
    attached.isDetached = true
    attached.session?.close()
    attached.login?.close()
  }

  private linkChanged(lastError: string | null): void {
    this.since = Date.now()
    if (lastError && lastError !== this.lastError) this.tools.log('down', { reason: lastError })
    this.lastError = lastError
  }

  private makeBackOff(): BackOff {
    return new BackOff(this.settings.host, this.settings.reconnect_seconds)
  }

  private startComponent(): Component {
    const component: Component = new Component(
      this.settings,
      {
        up: () => {
          this.linkChanged(null)
          for (const { session } of this.byChannel.values()) void session?.up(false)
        },
        stanza: (stanza, cut) => this.route(component, stanza, cut),
        down: (reason, fatal) => {
          this.linkChanged(reason)
          for (const { session } of this.byChannel.values()) session?.down(reason, fatal)
        },
      },
      this.makeBackOff(),
    )
    component.connect()
    return component
  }

  /** Routes a stanza to the number that it addresses. For other addresses the sender receives an error. */
  private async route(component: Component, stanza: XmlElement, cut: boolean): Promise<void> {
    const { local } = parseJid(stanza.attrs.to ?? '')
    const line = this.byNumber.get(`+${local}`)?.session
    if (line) return line.handleStanza(stanza, cut)
    const { type } = stanza.attrs
    const wantsAnswer = stanza.name === 'iq' ? type === 'get' || type === 'set' : stanza.name === 'message'
    if (wantsAnswer && type !== 'error') component.send(errorResponse(stanza, 'cancel', 'item-not-found'))
  }

  private startAdmin(account: { user: string; password: string }): ClientSession {
    const session = new ClientSession(
      this.settings,
      account,
      {
        up: () => {},
        stanza: async () => {},
        accepted: () => {},
        down: (reason) => this.tools.log('admin-down', { reason }),
      },
      this.makeBackOff(),
    )
    session.connect()
    return session
  }

  private administration(): Administration | null {
    const { component, admin, settings } = this
    const to = settings.domain
    if (admin) return (node, fields) => admin.request(adminCommand(to, node, fields))
    if (!component || !settings.admin) return null
    const from = `${settings.admin}@${component.domain}`
    return (node, fields) => {
      const command = adminCommand(to, node, fields)
      return component.request({ ...command, attrs: { ...command.attrs, from } }, requestTimeoutMs)
    }
  }

  private async open(attached: AttachedNumber): Promise<void> {
    const { channel } = attached.ref
    try {
      await (this.component ? this.openOnComponent(attached, this.component) : this.openLogin(attached))
    } catch (error) {
      if (attached.isDetached) return
      const reason = error instanceof Error ? error.message : String(error)
      this.tools.events.line(channel, { phase: 'disconnected', reason, fatal: false })
      setTimeout(() => !attached.isDetached && void this.open(attached), 2_000)
    }
  }

  private async makeSession(attached: AttachedNumber, wire: ChannelSession['deps']['wire']): Promise<ChannelSession> {
    const { tools, addresses, services, existenceChecker } = this
    const memory = await openPersistedState(tools.credentials, attached.ref.channel)
    const isComponent = this.component !== null
    const administration = this.administration()
    const rest = { isComponent, administration, existence: existenceChecker, services }
    return new ChannelSession({ line: attached.ref, tools, wire, addresses, state: memory, ...rest })
  }

  private async openOnComponent(attached: AttachedNumber, component: Component): Promise<void> {
    const line = await this.makeSession(attached, component.wire(attached.ref.number.slice(1)))
    if (attached.isDetached) return
    attached.session = line
    if (component.isUp) await line.up(false)
  }

  private async openLogin(attached: AttachedNumber): Promise<void> {
    const user = attached.ref.number.slice(1)
    const password = this.settings.password ?? (await this.ownPassword(attached.ref))
    if (password === null) {
      const reason = 'the connection has neither a password nor an administrator to create the account'
      this.tools.events.line(attached.ref.channel, { phase: 'failed', reason, fatal: true })
      return
    }
    const session: ClientSession = new ClientSession(
      this.settings,
      { user, password },
      {
        up: (resumed) => {
          this.linkChanged(null)
          void attached.session?.up(resumed)
        },
        stanza: async (stanza, cut) => attached.session?.handleStanza(stanza, cut),
        accepted: (id) => attached.session?.inbound.acceptedOwn.set(id, Date.now()),
        down: (reason, fatal) => {
          this.linkChanged(reason)
          if (!attached.isDetached) attached.session?.down(reason, fatal)
        },
      },
      this.makeBackOff(),
    )
    attached.session = await this.makeSession(attached, session)
    if (attached.isDetached) return
    attached.login = session
    session.connect()
  }

  /** Password of an account that our administrator creates. @throws Error when that is not possible now */
  private async ownPassword({ channel, number }: ChatChannel): Promise<string | null> {
    const ask = this.administration()
    if (!ask) return null
    let password = await passwordOf(this.tools.credentials, channel)
    if (password === null) {
      password = randomBytes(24).toString('base64url')
      // Stored first: an account with an unknown password would be lost.
      await storePassword(this.tools.credentials, channel, password)
    }
    const accountjid = `${number.slice(1)}@${this.settings.domain}`
    const answer = await ask('add-user', { accountjid, password, 'password-verify': password })
    if (answer.outcome !== 'result') throw new Error(`the administrator could not create the account: ${answer.reason}`)
    const note = errorNoteOf(answer)
    if (note !== null && !/exist/i.test(note)) throw new Error(`the account was not created: ${note}`)
    return password
  }
}
