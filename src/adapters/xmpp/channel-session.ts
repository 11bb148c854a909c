import { bareOf } from '@trunkline/xmpp/jid.ts'
import { ns } from '@trunkline/xmpp/namespaces.ts'
import { type XmlElement, xml } from '@trunkline/xmpp/xml.ts'
import { errorStack, errorText } from '../../platform/lib/error-text.ts'
import type { ChatChannelState } from '../../ports/chat.ts'
import { maskedJid } from './addresses.ts'
import { type ArchivedMessage, ArchiveReader } from './archive-reader.ts'
import type { ChannelDeps } from './channel-deps.ts'
import { presenceOf } from './disco-info.ts'
import { type GroupDeps, loadMembers } from './group-operations.ts'
import { InboundHandler } from './inbound-handler.ts'
import { archiveOverlapMs, archiveRetryMs, maxWatchers } from './limits.ts'
import { type AccountExistence, Probes } from './number-checks.ts'
import { Rooms } from './rooms.ts'

/** The session of one number on the network, across reconnects. */
export class ChannelSession {
  readonly deps: ChannelDeps
  readonly rooms: Rooms
  readonly inbound: InboundHandler
  readonly groups: GroupDeps
  /** False until missed messages are read: only then is the outcome of earlier sends known. */
  isRepaired = false
  hasArchive = false
  private readonly archive: ArchiveReader
  private readonly probes = new Probes()
  private readonly watchers = new Set<string>()
  /** Incremented for each new stream. */
  private generation = 0
  private repairTimer: NodeJS.Timeout | null = null

  constructor(parts: ChannelDeps) {
    this.deps = parts
    const { line, tools, wire, addresses, state } = parts
    const { channel } = line
    const { events } = tools
    this.archive = new ArchiveReader(wire)
    this.inbound = new InboundHandler(parts, () => this.rooms)
    const { inbound } = this
    this.rooms = new Rooms({
      wire,
      addresses,
      state,
      nick: line.name || line.number,
      acceptedOwn: inbound.acceptedOwn,
      inbound: (message) => inbound.persistInbound(message),
      receipt: (receipt) => inbound.persist(() => events.receipt(channel, receipt)),
      reaction: (reaction) => inbound.persist(() => events.reaction(channel, reaction)),
      edited: (edit) => inbound.persist(() => events.edited(channel, edit)),
      changed: (event) => inbound.persist(() => events.group(channel, event)),
    })
    this.groups = {
      wire,
      addresses,
      rooms: this.rooms,
      service: async () => (await parts.services(wire)).groups,
      exists: (number) => this.exists(number),
    }
  }

  publishState(phase: ChatChannelState['phase'], reason: string, fatal = false): void {
    const { line, tools, wire } = this.deps
    const me = { pushname: line.name, server: wire.self, business: false }
    tools.events.line(line.channel, { phase, reason, fatal, ...(phase === 'connected' && { me }) })
  }

  /** Called when the link is up. @param resumed the previous stream continues and nothing was missed */
  up(resumed: boolean): Promise<void> {
    return this.logErrors(() => this.begin(resumed))
  }

  /** Logs errors only: if the state cannot be written now, groups are entered again after the next disconnect. */
  private async logErrors(act: () => Promise<void>): Promise<void> {
    try {
      await act()
    } catch (error) {
      this.deps.tools.log('session-start-failed', { reason: errorText(error) })
    }
  }

  private async begin(resumed: boolean): Promise<void> {
    const { wire, state, isComponent } = this.deps
    if (!resumed) {
      this.generation++
      this.isRepaired = false
      this.rooms.leftAll()
    }
    const { generation } = this
    if (!isComponent && !resumed) {
      // Copies of messages of the account's other devices (XEP-0280); presence follows.
      await wire.request(xml('iq', '', { type: 'set' }, xml('enable', ns.carbons)))
      wire.send(presenceOf(undefined, state.values.status, null))
    }
    const isAlive = await wire.ping()
    if (generation !== this.generation || !isAlive || !wire.isUp) return
    this.publishState('connected', 'linked')
    if (!this.isRepaired) await this.repair(generation)
  }

  down(reason: string, fatal: boolean): void {
    this.publishState(fatal ? 'failed' : 'disconnected', reason, fatal)
  }

  close(): void {
    this.generation++
    this.rooms.leftAll()
    if (this.repairTimer) clearTimeout(this.repairTimer)
    this.inbound.close()
  }

  /** @returns after the stanza was persisted, if it has to be */
  async handleStanza(stanza: XmlElement, cut: boolean): Promise<void> {
    try {
      if (cut) this.deps.tools.log('stanza-too-large', { from: maskedJid(stanza.attrs.from), kind: stanza.name })
      else if (stanza.name === 'presence') await this.handlePresence(stanza)
      else if (stanza.name === 'iq') await this.inbound.handleIq(stanza)
      else if (stanza.name === 'message' && !this.archive.takeResult(stanza))
        await this.inbound.message(stanza, this.probes)
    } catch (error) {
      // No stanza may break the link: a fault of ours is logged, and the next stanza is processed.
      this.deps.tools.log('stanza-failed', { reason: errorStack(error), from: maskedJid(stanza.attrs.from) })
    }
  }

  async exists(number: string): Promise<AccountExistence> {
    const { wire, addresses, administration, existence, isComponent } = this.deps
    // Our own domain contains only our own numbers.
    if (isComponent && addresses.isOurs(number)) return 'yes'
    return existence.check(number, { wire, probes: this.probes, administration, addresses })
  }

  /** Sends the current presence again: a server distributes it, a component sends it to each watcher. */
  async broadcastPresence(): Promise<void> {
    const { wire, state, isComponent } = this.deps
    if (!isComponent) wire.send(presenceOf(undefined, state.values.status, null))
    else for (const watcher of this.watchers) await this.sendPresenceTo(watcher)
    for (const { jid, nick } of this.rooms.all()) {
      wire.send(presenceOf(`${jid}/${nick}`, state.values.status, null))
    }
  }

  private async sendPresenceTo(jid: string): Promise<void> {
    const { wire, state } = this.deps
    const image = state.values.picture ? await state.image() : null
    wire.send(presenceOf(jid, state.values.status, image))
  }

  private async handlePresence(stanza: XmlElement): Promise<void> {
    const { wire, isComponent } = this.deps
    const { type, from = '' } = stanza.attrs
    if (type !== 'subscribe' && type !== 'probe') {
      await this.rooms.handlePresence(stanza)
      return
    }
    // Every subscription request is approved.
    if (type === 'subscribe') wire.send(xml('presence', '', { type: 'subscribed', to: bareOf(from) }))
    if (!isComponent) return
    if (this.watchers.size < maxWatchers) this.watchers.add(bareOf(from))
    await this.sendPresenceTo(from)
  }

  /** Reads missed messages: first from our own archive, then from those of the groups. */
  private async repair(life: number): Promise<void> {
    const { wire, line, state, isComponent } = this.deps
    // Never before the number was first linked: older messages belong to a previous user.
    const since = Math.max(state.values.first, (this.inbound.newest ?? line.since ?? 0) - archiveOverlapMs)
    if (isComponent) this.isRepaired = true
    else {
      this.inbound.unconfirmed = null
      const read = await this.archive.readSince(since, wire.self, (one) => this.inbound.archived(one))
      if (life !== this.generation) return
      if (read !== 'all') this.deps.tools.log('archive-read-failed', { reason: this.archive.lastError })
      if (read === 'lost') {
        if (wire.isUp) this.repairTimer = setTimeout(() => void this.logErrors(() => this.repair(life)), archiveRetryMs)
        return
      }
      this.hasArchive = read === 'all'
      // A killed server may have archived one message without delivering it; that one is sent again under its id.
      if (life > 1 && this.inbound.unconfirmed !== null) this.inbound.acceptedOwn.delete(this.inbound.unconfirmed)
      this.isRepaired = true
    }
    for (const jid of Object.keys(state.values.rooms)) {
      if (life !== this.generation) return
      await this.enterGroup(jid, since)
    }
  }

  /** Enters a group and reads its messages since then. @param since null: we were never in it */
  async enterGroup(jid: string, since: number | null): Promise<boolean> {
    const joined = await this.rooms.join(jid, since)
    if (joined.outcome !== 'done') {
      this.deps.tools.log('group-join-failed', { group: jid, reason: joined.reason })
      return false
    }
    const keep = (one: ArchivedMessage) => this.rooms.handleMessage(one.message, one)
    if (since !== null) await this.archive.readSince(since, jid, keep)
    await loadMembers(this.groups, jid)
    return true
  }
}
