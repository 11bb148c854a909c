import type { ChatGroupEvent } from '../chat-port.ts'
import type { ChatInbound, ChatReceipt, ChatRemote } from '../message-port.ts'
import type { Asked } from '../port.ts'
import type { Addresses } from './addresses.ts'
import { bareOf, resourceOf } from './codec/jid.ts'
import { ns } from './codec/names.ts'
import { child, elements, type Xml, xml } from './codec/xml.ts'
import { readContents } from './contents.ts'
import { type Memory, nickIn } from './memory.ts'
import { digest, isWireId, sentAt } from './messages.ts'
import { Recent } from './order.ts'
import { errorOf } from './requests.ts'
import { infoOf } from './services.ts'
import type { Wire } from './wire.ts'

/** Groups of one number, and people of one group that are kept in mind. */
const mostRooms = 500
const mostPeople = 5_000

const joinMs = 15_000

type Room = {
  readonly jid: string
  nick: string
  name: string | null
  isIn: boolean
  /** Null while we may only listen. */
  canSpeak: boolean
  /** Who is there, by nick; the address is null where the group hides it. */
  readonly present: Map<string, string | null>
  /** Who belongs to it, once that was asked. */
  members: Set<string> | null
  joined: ((answer: Asked<null>) => void) | null
}

export type RoomsTools = {
  readonly wire: Wire
  readonly addresses: Addresses
  readonly memory: Memory
  readonly nick: string
  /** Messages of ours that the server has. */
  readonly known: Recent<number>
  inbound(message: ChatInbound): Promise<void>
  receipt(receipt: ChatReceipt): Promise<void>
  reaction(reaction: { id: string; by: ChatRemote; emoji: string | null; at: number }): Promise<void>
  edited(edit: { id: string; text: string; at: number }): Promise<void>
  changed(event: ChatGroupEvent): Promise<void>
}

/** Statuses of who is put out of a group: banned, kicked, no member any more (XEP-0045, 15.6). */
const out = new Set(['301', '307', '321', '322'])

const statuses = (user: Xml | undefined): ReadonlySet<string> =>
  new Set(user ? elements(user, 'status').map(({ attrs }) => attrs.code ?? '') : [])

/** The groups that one number is in (XEP-0045). */
export class Rooms {
  private readonly tools: RoomsTools
  private readonly rooms = new Map<string, Room>()
  /** Our ids and others', by the id that a group gave to a message, or the writer. */
  private readonly names = new Recent<string>(5_000)

  constructor(tools: RoomsTools) {
    this.tools = tools
  }

  get(jid: string): Room | undefined {
    return this.rooms.get(jid)
  }

  all(): Room[] {
    return [...this.rooms.values()]
  }

  /** Nobody is anywhere any more. */
  leftAll(): void {
    for (const room of this.rooms.values()) {
      room.isIn = false
      room.present.clear()
      room.members = null
      room.joined?.({ outcome: 'later', seconds: 2, reason: 'the link broke' })
    }
  }

  /** Enters a group; it is remembered. @param since what was written after is told by the group */
  async join(jid: string, since: number | null): Promise<Asked<null>> {
    if (!this.rooms.has(jid) && this.rooms.size >= mostRooms) return { outcome: 'refused', reason: 'too many groups' }
    const room = this.rooms.get(jid) ?? this.open(jid)
    const first = await this.enter(room, since)
    if (first.outcome !== 'refused' || !first.reason.startsWith('conflict')) return first
    room.nick = `${this.tools.nick} ${this.tools.wire.self.slice(0, this.tools.wire.self.indexOf('@'))}`
    return this.enter(room, since)
  }

  async forget(jid: string): Promise<void> {
    this.rooms.delete(jid)
    const { [jid]: _, ...rooms } = this.tools.memory.now.rooms
    await this.tools.memory.change({ rooms })
  }

  async takePresence(presence: Xml): Promise<void> {
    const { from = '', type } = presence.attrs
    const room = this.rooms.get(bareOf(from))
    if (!room) return
    const nick = resourceOf(from)
    if (type === 'error') {
      const { condition, reason, waits } = errorOf(presence)
      room.joined?.(waits ? { outcome: 'later', seconds: 5, reason } : { outcome: 'refused', reason })
      if (condition === 'registration-required' || condition === 'forbidden') await this.forget(room.jid)
      return
    }
    const user = child(presence, 'x', ns.mucUser)
    const item = user && child(user, 'item', ns.mucUser)
    const codes = statuses(user)
    const jid = item?.attrs.jid ? bareOf(item.attrs.jid) : null
    const isSelf = codes.has('110') || jid === this.tools.wire.self
    if (type === 'unavailable') {
      if (codes.has('303')) return
      room.present.delete(nick)
      if (isSelf) room.isIn = false
      const isOut = [...codes].some((code) => out.has(code)) || (isSelf && user && child(user, 'destroy', ns.mucUser))
      const gone = isSelf ? this.tools.wire.self : jid
      if (isOut && gone) await this.removed(room, gone)
      return
    }
    if (room.present.size < mostPeople) room.present.set(nick, jid)
    if (isSelf) {
      room.nick = nick
      room.isIn = true
      room.canSpeak = item?.attrs.role !== 'visitor'
      room.joined?.({ outcome: 'done', value: null })
    } else if (jid) await this.belongs(room, jid)
  }

  /** @param archived what the group's archive calls it */
  async takeMessage(message: Xml, archived: { id: string; at: number } | null = null): Promise<void> {
    const { from = '' } = message.attrs
    const room = this.rooms.get(bareOf(from))
    if (!room) return
    const nick = resourceOf(from)
    const user = child(message, 'x', ns.mucUser)
    if (nick === '') return this.affiliations(room, user)
    const [given] = elements(message, 'stanza-id', ns.stanzaIds).filter(({ attrs }) => attrs.by === room.jid)
    const { id = '' } = message.attrs
    const place = archived?.id ?? given?.attrs.id ?? digest(`${from} ${id}`)
    const told = user && child(user, 'item', ns.mucUser)?.attrs.jid
    const jid = room.present.get(nick) ?? (archived && told ? bareOf(told) : null)
    const own = jid === null ? nick === room.nick : jid === this.tools.wire.self
    const at = archived?.at ?? sentAt(message, [room.jid], Date.now())
    if (own && isWireId(id)) {
      this.names.set(`${room.jid}/${place}`, id)
      this.names.set(`${room.jid}>${id}`, place)
      this.tools.known.set(id, at)
      return
    }
    const from_ = jid ? this.tools.addresses.remoteOf(jid, nick.slice(0, 100)) : this.stranger(from, nick)
    await this.tell(room, message, { nick, id, name: `${room.jid}/${place}`, from: from_, own, at })
  }

  /** What the group calls a message of ours. */
  placeOf(room: string, id: string): string | null {
    return this.names.get(`${room}>${id}`) ?? null
  }

  private stranger(from: string, nick: string): ChatRemote {
    return { number: null, remote: from, pushname: nick.slice(0, 100) }
  }

  private async tell(
    room: Room,
    message: Xml,
    {
      nick,
      id,
      name,
      from,
      own,
      at,
    }: { nick: string; id: string; name: string; from: ChatRemote; own: boolean; at: number },
  ): Promise<void> {
    const { tools, names } = this
    const seen = child(message, 'displayed', ns.markers)?.attrs.id
    const ours = seen && names.get(`${room.jid}/${seen}`)
    if (ours && isWireId(ours) && !own) await tools.receipt({ id: ours, level: 3, at, by: from })
    const reactions = child(message, 'reactions', ns.reactions)
    if (reactions) {
      const target = `${room.jid}/${reactions.attrs.id ?? ''}`
      const [first] = elements(reactions, 'reaction')
      const emoji =
        first?.children
          .filter((one) => typeof one === 'string')
          .join('')
          .slice(0, 40) || null
      if (!own) await tools.reaction({ id: names.get(target) ?? target, by: from, emoji, at })
      return
    }
    const contents = readContents(message)
    if (!contents || child(message, 'retract', ns.retract)) return
    const writer = `${room.jid} ${nick} `
    const replaced = child(message, 'replace', ns.correct)?.attrs.id
    if (replaced && contents.text !== null) {
      const target = names.get(writer + replaced)
      if (target) await tools.edited({ id: target, text: contents.text, at })
      return
    }
    if (id) names.set(writer + id, name)
    const group = { id: room.jid, name: room.name }
    await tools.inbound({ id: name.length > 300 ? digest(name) : name, from, group, at, own, ...contents })
  }

  /** Somebody who is not there was taken in or put out: the group says so itself (XEP-0045, 9.3 and 9.4). */
  private async affiliations(room: Room, user: Xml | undefined): Promise<void> {
    for (const { attrs } of user ? elements(user, 'item', ns.mucUser) : []) {
      const jid = attrs.jid && bareOf(attrs.jid)
      if (!jid) continue
      if (attrs.affiliation === 'none' || attrs.affiliation === 'outcast') await this.removed(room, jid)
      else if (attrs.affiliation) await this.belongs(room, jid)
    }
  }

  private async belongs(room: Room, jid: string): Promise<void> {
    if (!room.members || room.members.has(jid) || room.members.size >= mostPeople) return
    room.members.add(jid)
    await this.happened(room, 'join', jid)
  }

  private async removed(room: Room, jid: string): Promise<void> {
    const isSelf = jid === this.tools.wire.self
    if (!isSelf && room.members && !room.members.delete(jid)) return
    if (isSelf) await this.forget(room.jid)
    await this.happened(room, 'remove', jid)
  }

  async happened(room: Room, what: ChatGroupEvent['what'], jid: string): Promise<void> {
    const at = Date.now()
    const who = [this.tools.addresses.remoteOf(jid)]
    const id = digest(`${room.jid} ${what} ${jid} ${at}`)
    await this.tools.changed({ id, group: room.jid, name: room.name, what, who, at })
  }

  private open(jid: string): Room {
    const nick = nickIn(this.tools.memory.now, jid) ?? this.tools.nick
    const room = { jid, nick, name: null, isIn: false, canSpeak: true, present: new Map(), members: null, joined: null }
    this.rooms.set(jid, room)
    return room
  }

  private async enter(room: Room, since: number | null): Promise<Asked<null>> {
    const { wire, memory } = this.tools
    const { promise, resolve } = Promise.withResolvers<Asked<null>>()
    const timer = setTimeout(() => resolve({ outcome: 'unknown', reason: 'the group did not answer' }), joinMs)
    room.joined = resolve
    const history = since === null ? { maxstanzas: '0' } : { since: new Date(since).toISOString() }
    const wish = xml('x', ns.muc, {}, xml('history', ns.muc, history))
    const isOut = wire.send(xml('presence', '', { to: `${room.jid}/${room.nick}` }, wish))
    if (!isOut) resolve({ outcome: 'later', seconds: 2, reason: 'the link is down' })
    const answer = await promise
    clearTimeout(timer)
    room.joined = null
    if (answer.outcome !== 'done') {
      if (nickIn(memory.now, room.jid) === undefined) this.rooms.delete(room.jid)
      return answer
    }
    if (nickIn(memory.now, room.jid) !== room.nick) {
      await memory.change({ rooms: { ...memory.now.rooms, [room.jid]: room.nick } })
    }
    room.name = await this.nameOf(room.jid)
    return answer
  }

  async nameOf(jid: string): Promise<string | null> {
    const info = await infoOf(this.tools.wire, jid)
    return (info && elements(info.query, 'identity')[0]?.attrs.name) ?? null
  }
}
