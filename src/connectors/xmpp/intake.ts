import { setTimeout as wait } from 'node:timers/promises'
import { errorText } from '../../lib/error-text.ts'
import type { ChatInbound } from '../message-port.ts'
import type { Archived } from './archive.ts'
import type { Probes } from './checks.ts'
import { bareOf, parseJid, resourceOf } from './codec/jid.ts'
import { ns } from './codec/names.ts'
import { child, elements, type Xml, xml } from './codec/xml.ts'
import type { LineTools } from './line.ts'
import { forwarded, isWireId, readMessage, sentAt, type Told } from './messages.ts'
import { Order, Recent } from './order.ts'
import { receiptFor } from './outgoing.ts'
import { answerTo } from './persona.ts'
import { errorOf } from './requests.ts'
import type { Rooms } from './rooms.ts'

const firstWaitMs = 200
const longestWaitMs = 5_000

/** What comes in for one number: each thing is kept, in the order of its conversation. */
export class Intake {
  /** Messages of ours that the server has, and when. */
  readonly known = new Recent<number>(5_000)
  /** The last message of ours in what was read of the archive, if the server had not told that it has it. */
  unsure: string | null = null
  /** The newest message that was kept, Unix milliseconds. */
  newest: number | null = null
  private readonly parts: LineTools
  private readonly rooms: () => Rooms
  private readonly order = new Order()
  /** Messages that were kept: they come again from archives and after broken links. */
  private readonly kept = new Recent<true>(5_000)
  private readonly closing = new AbortController()

  constructor(parts: LineTools, rooms: () => Rooms) {
    this.parts = parts
    this.rooms = rooms
  }

  close(): void {
    this.closing.abort()
  }

  /** Tries until it is kept, or the line is let go. */
  async keep(act: () => Promise<void>): Promise<void> {
    const { signal } = this.closing
    for (let ms = firstWaitMs; !signal.aborted; ms = Math.min(longestWaitMs, ms * 2)) {
      try {
        await act()
        return
      } catch (error) {
        this.parts.tools.log('not-kept', { reason: errorText(error) })
        await wait(ms, null, { signal }).catch(() => {})
      }
    }
  }

  async keepInbound(message: ChatInbound): Promise<void> {
    if (this.kept.has(message.id)) return
    const { line, tools } = this.parts
    await this.keep(() => tools.events.inbound(line.channel, message))
    this.kept.set(message.id, true)
    this.newest = Math.max(this.newest ?? 0, message.at)
  }

  async message(stanza: Xml, probes: Probes): Promise<void> {
    const { wire } = this.parts
    const { from = wire.self, type } = stanza.attrs
    const rooms = this.rooms()
    if (bareOf(from) === wire.self) return this.copy(stanza)
    if (type === 'error' && probes.take(stanza, errorOf(stanza).condition)) return
    if (rooms.get(bareOf(from)) && type !== 'error') return this.ofGroup(stanza, from)
    const invited = this.invitation(stanza)
    if (invited) return this.accept(invited)
    const [given] = elements(stanza, 'stanza-id', ns.stanzaIds).filter(({ attrs }) => attrs.by === wire.self)
    await this.take({ ...stanza, attrs: { ...stanza.attrs, from } }, { own: false, archived: given?.attrs.id ?? null })
  }

  /** A message of our own archive. What we sent ourselves is known then. */
  async archived({ message, id, at }: Archived): Promise<void> {
    const { wire } = this.parts
    const own = bareOf(message.attrs.from ?? '') === wire.self
    if (message.attrs.type === 'groupchat') return
    const ours = message.attrs.id ?? ''
    if (own && isWireId(ours)) this.unsure = this.known.has(ours) ? null : ours
    await this.take(message, { own, archived: id, at })
  }

  /** A question that somebody asks us, or that a call begins with (XEP-0166). */
  async question(iq: Xml): Promise<void> {
    const { line, memory, wire, addresses, tools, isComponent } = this.parts
    const { type, from = '', id } = iq.attrs
    if (type !== 'get' && type !== 'set') return
    const jingle = child(iq, 'jingle', ns.jingle)
    const { sid = '', action } = jingle?.attrs ?? {}
    const isCall = action === 'session-initiate' || action === 'session-terminate'
    if (type !== 'set' || !jingle || !isCall || sid === '' || sid.length > 200 || !addresses.isUsable(from)) {
      wire.send(await answerTo(iq, line.name, memory, isComponent))
      return
    }
    const video = elements(jingle, 'content').some((content) =>
      elements(content, 'description').some(({ attrs }) => attrs.media === 'video'),
    )
    const state = action === 'session-initiate' ? 'offered' : 'ended'
    const call = { id: sid, from: addresses.remoteOf(from), group: null, video, at: Date.now(), state } as const
    await this.order.run(bareOf(from), () => this.keep(() => tools.events.call(line.channel, call)))
    wire.send(xml('iq', '', { type: 'result', id, to: from }))
    if (state === 'ended') return
    const reason = xml('reason', ns.jingle, {}, xml('decline', ns.jingle))
    const end = xml('jingle', ns.jingle, { action: 'session-terminate', sid }, reason)
    wire.send(xml('iq', '', { type: 'set', id: `end-${id}`, to: from }, end))
  }

  /** A copy of what another device of ours sent or received (XEP-0280): only the own account may say so. */
  private async copy(stanza: Xml): Promise<void> {
    const sent = child(stanza, 'sent', ns.carbons)
    const received = child(stanza, 'received', ns.carbons)
    const inner = (sent ?? received) && forwarded(sent ?? received ?? stanza)
    if (!inner || inner.message.attrs.type === 'groupchat') return
    const own = sent !== undefined
    if (own !== (bareOf(inner.message.attrs.from ?? '') === this.parts.wire.self)) return
    await this.take(inner.message, { own, archived: null })
  }

  /** @param about `at` as the archive says */
  private async take(message: Xml, about: { own: boolean; archived: string | null; at?: number }): Promise<void> {
    const { wire, addresses } = this.parts
    const { from = '', to = '', id = '' } = message.attrs
    const { domain } = parseJid(wire.self)
    const at = about.at ?? sentAt(message, [domain, wire.self], Date.now())
    if (about.own && (isWireId(id) || resourceOf(from) === 'trunkline')) {
      this.known.set(id, at)
      return
    }
    const isKnown = (one: string) => this.known.has(one)
    const told = readMessage(message, { addresses, at, own: about.own, archived: about.archived, isKnown })
    if (told.length === 0) return
    await this.order.run(bareOf(about.own ? to : from), async () => {
      for (const one of told) await this.tell(one, from)
    })
  }

  private async tell(told: Told, from: string): Promise<void> {
    const { wire, tools, line } = this.parts
    const { channel } = line
    if (told.what === 'inbound') {
      const isNew = !this.kept.has(told.message.id)
      await this.keepInbound(told.message)
      if (told.message.own) this.known.set(told.message.id, told.message.at)
      // Only now: who wrote is told that it arrived once it is kept.
      if (isNew && told.receipt !== null) wire.send(receiptFor(from, told.receipt))
    } else if (told.what === 'receipt') await this.keep(() => tools.events.receipt(channel, told.receipt))
    else if (told.what === 'failure') await this.keep(() => tools.events.failure(channel, told.failure))
    else if (told.what === 'edited') await this.keep(() => tools.events.edited(channel, told.edit))
    else if (told.what === 'reaction') await this.keep(() => tools.events.reaction(channel, told.reaction))
    else await this.keep(() => tools.events.call(channel, told.call))
  }

  private async ofGroup(stanza: Xml, from: string): Promise<void> {
    const rooms = this.rooms()
    const room = bareOf(from)
    const isSaid = stanza.attrs.type === 'groupchat' || resourceOf(from) === ''
    if (isSaid) return this.order.run(room, () => rooms.takeMessage(stanza))
    // Said to us alone within a group: a message of who it is, where the group tells.
    const who = rooms.get(room)?.present.get(resourceOf(from))
    if (who) await this.take({ ...stanza, attrs: { ...stanza.attrs, from: who } }, { own: false, archived: null })
  }

  /** The group that a message asks us into, by the group (XEP-0045, 7.8.2) or by somebody of our own server (XEP-0249). */
  private invitation(message: Xml): string | null {
    const { addresses } = this.parts
    const { from = '', type } = message.attrs
    if (type === 'error') return null
    const user = child(message, 'x', ns.mucUser)
    if (user && child(user, 'invite', ns.mucUser)) return bareOf(from)
    const direct = child(message, 'x', ns.conference)?.attrs.jid
    return direct && addresses.numberOf(from) ? bareOf(direct) : null
  }

  /** Only groups of our own server are entered: a stranger's could call us anywhere. */
  private async accept(room: string): Promise<void> {
    const { services, wire } = this.parts
    const { groups } = await services(wire)
    if (parseJid(room).domain !== groups || this.rooms().get(room)) return
    // Not awaited: the answer comes over the very stream whose stanza this is.
    void this.rooms()
      .join(room, null)
      .then(async (joined) => {
        const entered = this.rooms().get(room)
        if (joined.outcome === 'done' && entered) await this.rooms().happened(entered, 'join', wire.self)
      })
      .catch((error: unknown) => this.parts.tools.log('group-not-entered', { group: room, reason: errorText(error) }))
  }
}
