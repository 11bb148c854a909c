import { setTimeout as wait } from 'node:timers/promises'
import { errorOf } from '@trunkline/xmpp/iq-requests.ts'
import { bareOf, parseJid, resourceOf } from '@trunkline/xmpp/jid.ts'
import { ns } from '@trunkline/xmpp/namespaces.ts'
import { child, elements, type XmlElement, xml } from '@trunkline/xmpp/xml.ts'
import { errorText } from '../../platform/lib/error-text.ts'
import { makeKeyedQueue } from '../../platform/lib/serial-queue.ts'
import type { ChatInbound } from '../../ports/chat-message.ts'
import type { ArchivedMessage } from './archive-reader.ts'
import type { ChannelDeps } from './channel-deps.ts'
import { respondTo } from './disco-info.ts'
import { firstPersistRetryMs, maxPersistRetryMs } from './limits.ts'
import { LruMap } from './lru-map.ts'
import { forwarded, isWireId, type ParsedEvent, parseMessage, sentAt } from './message-parser.ts'
import type { Probes } from './number-checks.ts'
import type { Rooms } from './rooms.ts'
import { receiptFor } from './stanza-builder.ts'

/** Persists inbound events of one number, in order within each conversation. */
export class InboundHandler {
  /** Our messages that the server accepted, with their time. */
  readonly acceptedOwn = new LruMap<number>(5_000)
  /** Our last message in the archive part just read, if the server had not confirmed it. */
  unconfirmed: string | null = null
  /** Time of the newest persisted message, Unix milliseconds. */
  newest: number | null = null
  private readonly deps: ChannelDeps
  private readonly rooms: () => Rooms
  private readonly queue = makeKeyedQueue()
  /** Ids of persisted messages; archives and broken links repeat them. */
  private readonly persisted = new LruMap<true>(5_000)
  private readonly closing = new AbortController()

  constructor(parts: ChannelDeps, rooms: () => Rooms) {
    this.deps = parts
    this.rooms = rooms
  }

  close(): void {
    this.closing.abort()
  }

  /** Retries until persisted or until the session is closed. */
  async persist(act: () => Promise<void>): Promise<void> {
    const { signal } = this.closing
    for (let ms = firstPersistRetryMs; !signal.aborted; ms = Math.min(maxPersistRetryMs, ms * 2)) {
      try {
        await act()
        return
      } catch (error) {
        this.deps.tools.log('persist-failed', { reason: errorText(error) })
        await wait(ms, null, { signal }).catch(() => {})
      }
    }
  }

  async persistInbound(handleMessage: ChatInbound): Promise<void> {
    if (this.persisted.has(handleMessage.id)) return
    const { line, tools } = this.deps
    await this.persist(() => tools.events.inbound(line.channel, handleMessage))
    this.persisted.set(handleMessage.id, true)
    this.newest = Math.max(this.newest ?? 0, handleMessage.at)
  }

  async message(stanza: XmlElement, probes: Probes): Promise<void> {
    const { wire } = this.deps
    const { from = wire.self, type } = stanza.attrs
    const rooms = this.rooms()
    if (bareOf(from) === wire.self) return this.handleCarbon(stanza)
    if (type === 'error' && probes.takeAnswer(stanza, errorOf(stanza))) return
    if (rooms.get(bareOf(from)) && type !== 'error') return this.handleGroupMessage(stanza, from)
    const invited = this.invitation(stanza)
    if (invited) return this.acceptInvitation(invited)
    const [stanzaId] = elements(stanza, 'stanza-id', ns.stanzaIds).filter(({ attrs }) => attrs.by === wire.self)
    await this.handleParsed(
      { ...stanza, attrs: { ...stanza.attrs, from } },
      { own: false, handleArchived: stanzaId?.attrs.id ?? null },
    )
  }

  /** Handles a message of our own archive; messages sent by us are known by then. */
  async archived({ message, id, at }: ArchivedMessage): Promise<void> {
    const { wire } = this.deps
    const own = bareOf(message.attrs.from ?? '') === wire.self
    if (message.attrs.type === 'groupchat') return
    const ours = message.attrs.id ?? ''
    if (own && isWireId(ours)) this.unconfirmed = this.acceptedOwn.has(ours) ? null : ours
    await this.handleParsed(message, { own, handleArchived: id, at })
  }

  /** Handles a query of another entity, or a call invitation (XEP-0166). */
  async handleIq(iq: XmlElement): Promise<void> {
    const { line, state: memory, wire, addresses, tools, isComponent } = this.deps
    const { type, from = '', id } = iq.attrs
    if (type !== 'get' && type !== 'set') return
    const jingle = child(iq, 'jingle', ns.jingle)
    const { sid = '', action } = jingle?.attrs ?? {}
    const isCall = action === 'session-initiate' || action === 'session-terminate'
    if (type !== 'set' || !jingle || !isCall || sid === '' || sid.length > 200 || !addresses.isUsable(from)) {
      wire.send(await respondTo(iq, line.name, memory, isComponent))
      return
    }
    const video = elements(jingle, 'content').some((content) =>
      elements(content, 'description').some(({ attrs }) => attrs.media === 'video'),
    )
    const state = action === 'session-initiate' ? 'offered' : 'ended'
    const call = { id: sid, from: addresses.remoteOf(from), group: null, video, at: Date.now(), state } as const
    await this.queue(bareOf(from), () => this.persist(() => tools.events.call(line.channel, call)))
    wire.send(xml('iq', '', { type: 'result', id, to: from }))
    if (state === 'ended') return
    const reason = xml('reason', ns.jingle, {}, xml('decline', ns.jingle))
    const end = xml('jingle', ns.jingle, { action: 'session-terminate', sid }, reason)
    wire.send(xml('iq', '', { type: 'set', id: `end-${id}`, to: from }, end))
  }

  /** Handles a carbon copy from another of our devices (XEP-0280); only our own account may send it. */
  private async handleCarbon(stanza: XmlElement): Promise<void> {
    const sent = child(stanza, 'sent', ns.carbons)
    const received = child(stanza, 'received', ns.carbons)
    const inner = (sent ?? received) && forwarded(sent ?? received ?? stanza)
    if (!inner || inner.message.attrs.type === 'groupchat') return
    const own = sent !== undefined
    if (own !== (bareOf(inner.message.attrs.from ?? '') === this.deps.wire.self)) return
    await this.handleParsed(inner.message, { own, handleArchived: null })
  }

  /** @param about its `at` is the archive's time, if any */
  private async handleParsed(
    message: XmlElement,
    about: { own: boolean; handleArchived: string | null; at?: number },
  ): Promise<void> {
    const { wire, addresses } = this.deps
    const { from = '', to = '', id = '' } = message.attrs
    const { domain } = parseJid(wire.self)
    const at = about.at ?? sentAt(message, [domain, wire.self], Date.now())
    if (about.own && (isWireId(id) || resourceOf(from) === 'trunkline')) {
      this.acceptedOwn.set(id, at)
      return
    }
    const isKnown = (one: string) => this.acceptedOwn.has(one)
    const parsed = parseMessage(message, { addresses, at, own: about.own, archived: about.handleArchived, isKnown })
    if (parsed.length === 0) return
    await this.queue(bareOf(about.own ? to : from), async () => {
      for (const one of parsed) await this.publish(one, from)
    })
  }

  private async publish(event: ParsedEvent, from: string): Promise<void> {
    const { wire, tools, line } = this.deps
    const { channel } = line
    if (event.kind === 'inbound') {
      const isNew = !this.persisted.has(event.message.id)
      await this.persistInbound(event.message)
      if (event.message.own) this.acceptedOwn.set(event.message.id, event.message.at)
      // Sent only now: a delivery receipt follows persistence.
      if (isNew && event.receipt !== null) wire.send(receiptFor(from, event.receipt))
    } else if (event.kind === 'receipt') await this.persist(() => tools.events.receipt(channel, event.receipt))
    else if (event.kind === 'failure') await this.persist(() => tools.events.failure(channel, event.failure))
    else if (event.kind === 'edited') await this.persist(() => tools.events.edited(channel, event.edit))
    else if (event.kind === 'reaction') await this.persist(() => tools.events.reaction(channel, event.reaction))
    else await this.persist(() => tools.events.call(channel, event.call))
  }

  private async handleGroupMessage(stanza: XmlElement, from: string): Promise<void> {
    const rooms = this.rooms()
    const room = bareOf(from)
    const isSaid = stanza.attrs.type === 'groupchat' || resourceOf(from) === ''
    if (isSaid) return this.queue(room, () => rooms.handleMessage(stanza))
    // A private message within a group belongs to the occupant, if the group reveals the real address.
    const who = rooms.get(room)?.present.get(resourceOf(from))
    if (who)
      await this.handleParsed(
        { ...stanza, attrs: { ...stanza.attrs, from: who } },
        { own: false, handleArchived: null },
      )
  }

  /** The group of an invitation, sent by the group (XEP-0045, 7.8.2) or by a user of our own server (XEP-0249). */
  private invitation(message: XmlElement): string | null {
    const { addresses } = this.deps
    const { from = '', type } = message.attrs
    if (type === 'error') return null
    const user = child(message, 'x', ns.mucUser)
    if (user && child(user, 'invite', ns.mucUser)) return bareOf(from)
    const direct = child(message, 'x', ns.conference)?.attrs.jid
    return direct && addresses.numberOf(from) ? bareOf(direct) : null
  }

  /** Enters only groups of our own server: a foreign invitation could send us to any host. */
  private async acceptInvitation(room: string): Promise<void> {
    const { services, wire } = this.deps
    const { groups } = await services(wire)
    if (parseJid(room).domain !== groups || this.rooms().get(room)) return
    // Not awaited: the answer arrives on the same stream as this stanza.
    void this.rooms()
      .join(room, null)
      .then(async (joined) => {
        const entered = this.rooms().get(room)
        if (joined.outcome === 'done' && entered) await this.rooms().publishChange(entered, 'join', wire.self)
      })
      .catch((error: unknown) => this.deps.tools.log('group-join-failed', { group: room, reason: errorText(error) }))
  }
}
