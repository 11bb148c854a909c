import { errorOf } from '@trunkline/xmpp/iq-requests.ts'
import { bareOf, resourceOf } from '@trunkline/xmpp/jid.ts'
import { ns } from '@trunkline/xmpp/namespaces.ts'
import type { Wire } from '@trunkline/xmpp/wire.ts'
import { child, elements, type XmlElement, xml } from '@trunkline/xmpp/xml.ts'
import type { ChatGroupEvent } from '../../ports/chat.ts'
import type { ChatInbound, ChatParty, ChatReceipt } from '../../ports/chat-message.ts'
import type { ServiceResult } from '../../ports/supplier.ts'
import type { Addresses } from './addresses.ts'
import { readContents } from './contents.ts'
import { joinTimeoutMs, maxOccupants, maxRooms } from './limits.ts'
import { LruMap } from './lru-map.ts'
import { digest, isWireId, sentAt } from './message-parser.ts'
import { nickIn, type PersistedState } from './persisted-state.ts'
import { infoOf } from './service-discovery.ts'

/** Id of a group message here, of its name in the group. */
const idOf = (name: string): string => (name.length > 300 ? digest(name) : name)

type Room = {
  readonly jid: string
  nick: string
  name: string | null
  isJoined: boolean
  /** False while we are only a visitor. */
  canSpeak: boolean
  /** Occupants by nickname; the address is null where the group hides it. */
  readonly present: Map<string, string | null>
  /** Members, once loaded. */
  members: Set<string> | null
  joined: ((answer: ServiceResult<null>) => void) | null
}

export type RoomsDeps = {
  readonly wire: Wire
  readonly addresses: Addresses
  readonly state: PersistedState
  readonly nick: string
  /** Our messages that the server accepted. */
  readonly acceptedOwn: LruMap<number>
  inbound(message: ChatInbound): Promise<void>
  receipt(receipt: ChatReceipt): Promise<void>
  reaction(reaction: { id: string; by: ChatParty; emoji: string | null; at: number }): Promise<void>
  edited(edit: { id: string; text: string; at: number }): Promise<void>
  changed(event: ChatGroupEvent): Promise<void>
}

/** Status codes of a removal: banned, kicked, no longer a member (XEP-0045, 15.6). */
const removalStatuses = new Set(['301', '307', '321', '322'])

const statuses = (user: XmlElement | undefined): ReadonlySet<string> =>
  new Set(user ? elements(user, 'status').map(({ attrs }) => attrs.code ?? '') : [])

/** Groups of one number (XEP-0045). */
export class Rooms {
  private readonly deps: RoomsDeps
  private readonly rooms = new Map<string, Room>()
  /** Message ids of ours and of others, by the id that the group or the writer assigned. */
  private readonly idAliases = new LruMap<string>(5_000)

  constructor(tools: RoomsDeps) {
    this.deps = tools
  }

  get(jid: string): Room | undefined {
    return this.rooms.get(jid)
  }

  all(): Room[] {
    return [...this.rooms.values()]
  }

  /** Marks every group as left, after the link broke. */
  leftAll(): void {
    for (const room of this.rooms.values()) {
      room.isJoined = false
      room.present.clear()
      room.members = null
      room.joined?.({ outcome: 'later', seconds: 2, reason: 'the link broke' })
    }
  }

  /** Enters a group and remembers it. @param since the group sends messages from this time on */
  async join(jid: string, since: number | null): Promise<ServiceResult<null>> {
    if (!this.rooms.has(jid) && this.rooms.size >= maxRooms) return { outcome: 'refused', reason: 'too many groups' }
    const room = this.rooms.get(jid) ?? this.open(jid)
    const first = await this.enter(room, since)
    if (first.outcome !== 'refused' || !first.reason.startsWith('conflict')) return first
    room.nick = `${this.deps.nick} ${this.deps.wire.self.slice(0, this.deps.wire.self.indexOf('@'))}`
    return this.enter(room, since)
  }

  async forget(jid: string): Promise<void> {
    this.rooms.delete(jid)
    const { [jid]: _, ...rooms } = this.deps.state.values.rooms
    await this.deps.state.change({ rooms })
  }

  async handlePresence(presence: XmlElement): Promise<void> {
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
    const isSelf = codes.has('110') || jid === this.deps.wire.self
    if (type === 'unavailable') {
      if (codes.has('303')) return
      room.present.delete(nick)
      if (isSelf) room.isJoined = false
      const isOut =
        [...codes].some((code) => removalStatuses.has(code)) || (isSelf && user && child(user, 'destroy', ns.mucUser))
      const gone = isSelf ? this.deps.wire.self : jid
      if (isOut && gone) await this.memberRemoved(room, gone)
      return
    }
    if (room.present.size < maxOccupants) room.present.set(nick, jid)
    if (isSelf) {
      room.nick = nick
      room.isJoined = true
      room.canSpeak = item?.attrs.role !== 'visitor'
      room.joined?.({ outcome: 'done', value: null })
    } else if (jid) await this.memberAdded(room, jid)
  }

  /** @param archived id and time in the group's archive */
  async handleMessage(message: XmlElement, archived: { id: string; at: number } | null = null): Promise<void> {
    const { from = '' } = message.attrs
    const room = this.rooms.get(bareOf(from))
    if (!room) return
    const nick = resourceOf(from)
    const user = child(message, 'x', ns.mucUser)
    if (nick === '') return this.affiliations(room, user)
    const [stanzaId] = elements(message, 'stanza-id', ns.stanzaIds).filter(({ attrs }) => attrs.by === room.jid)
    const { id = '' } = message.attrs
    const place = archived?.id ?? stanzaId?.attrs.id ?? digest(`${from} ${id}`)
    const realJid = user && child(user, 'item', ns.mucUser)?.attrs.jid
    const jid = room.present.get(nick) ?? (archived && realJid ? bareOf(realJid) : null)
    const own = jid === null ? nick === room.nick : jid === this.deps.wire.self
    const at = archived?.at ?? sentAt(message, [room.jid], Date.now())
    if (own && isWireId(id)) {
      this.idAliases.set(`${room.jid}/${place}`, id)
      this.idAliases.set(`${room.jid}>${id}`, place)
      this.deps.acceptedOwn.set(id, at)
      return
    }
    const from_ = jid ? this.deps.addresses.remoteOf(jid, nick.slice(0, 100)) : this.unknownOccupant(from, nick)
    await this.publish(room, message, { nick, id, name: `${room.jid}/${place}`, from: from_, own, at })
  }

  /** The group's id of a message of ours. */
  groupIdOf(room: string, id: string): string | null {
    return this.idAliases.get(`${room}>${id}`) ?? null
  }

  private unknownOccupant(from: string, nick: string): ChatParty {
    return { number: null, remote: from, pushname: nick.slice(0, 100) }
  }

  private async publish(
    room: Room,
    message: XmlElement,
    {
      nick,
      id,
      name,
      from,
      own,
      at,
    }: { nick: string; id: string; name: string; from: ChatParty; own: boolean; at: number },
  ): Promise<void> {
    const { deps, idAliases } = this
    const seen = child(message, 'displayed', ns.markers)?.attrs.id
    const ours = seen && idAliases.get(`${room.jid}/${seen}`)
    if (ours && isWireId(ours) && !own) await deps.receipt({ id: ours, level: 3, at, by: from })
    const reactions = child(message, 'reactions', ns.reactions)
    if (reactions) {
      const target = `${room.jid}/${reactions.attrs.id ?? ''}`
      const [first] = elements(reactions, 'reaction')
      const emoji =
        first?.children
          .filter((one) => typeof one === 'string')
          .join('')
          .slice(0, 40) || null
      if (!own) await deps.reaction({ id: idAliases.get(target) ?? target, by: from, emoji, at })
      return
    }
    const contents = readContents(message)
    if (!contents || child(message, 'retract', ns.retract)) return
    const writer = `${room.jid} ${nick} `
    const replaced = child(message, 'replace', ns.correct)?.attrs.id
    if (replaced && contents.text !== null) {
      const target = idAliases.get(writer + replaced)
      if (target) await deps.edited({ id: target, text: contents.text, at })
      return
    }
    if (id) idAliases.set(writer + id, name)
    const group = { id: room.jid, name: room.name }
    const target = `${room.jid}/${child(message, 'reply', ns.reply)?.attrs.id ?? ''}`
    const quoted = target.endsWith('/') ? null : (idAliases.get(target) ?? idOf(target))
    await deps.inbound({ id: idOf(name), from, group, at, own, ...contents, quoted })
  }

  /** Processes membership changes of absent users, announced by the group itself (XEP-0045, 9.3 and 9.4). */
  private async affiliations(room: Room, user: XmlElement | undefined): Promise<void> {
    for (const { attrs } of user ? elements(user, 'item', ns.mucUser) : []) {
      const jid = attrs.jid && bareOf(attrs.jid)
      if (!jid) continue
      if (attrs.affiliation === 'none' || attrs.affiliation === 'outcast') await this.memberRemoved(room, jid)
      else if (attrs.affiliation) await this.memberAdded(room, jid)
    }
  }

  private async memberAdded(room: Room, jid: string): Promise<void> {
    if (!room.members || room.members.has(jid) || room.members.size >= maxOccupants) return
    room.members.add(jid)
    await this.publishChange(room, 'join', jid)
  }

  private async memberRemoved(room: Room, jid: string): Promise<void> {
    const isSelf = jid === this.deps.wire.self
    if (!isSelf && room.members && !room.members.delete(jid)) return
    if (isSelf) await this.forget(room.jid)
    await this.publishChange(room, 'remove', jid)
  }

  async publishChange(room: Room, what: ChatGroupEvent['what'], jid: string): Promise<void> {
    const at = Date.now()
    const who = [this.deps.addresses.remoteOf(jid)]
    const id = digest(`${room.jid} ${what} ${jid} ${at}`)
    await this.deps.changed({ id, group: room.jid, name: room.name, what, who, at })
  }

  private open(jid: string): Room {
    const nick = nickIn(this.deps.state.values, jid) ?? this.deps.nick
    const room: Room = {
      jid,
      nick,
      name: null,
      isJoined: false,
      canSpeak: true,
      present: new Map(),
      members: null,
      joined: null,
    }
    this.rooms.set(jid, room)
    return room
  }

  private async enter(room: Room, since: number | null): Promise<ServiceResult<null>> {
    const { wire, state } = this.deps
    const { promise, resolve } = Promise.withResolvers<ServiceResult<null>>()
    const timer = setTimeout(() => resolve({ outcome: 'unknown', reason: 'the group did not answer' }), joinTimeoutMs)
    room.joined = resolve
    const history = since === null ? { maxstanzas: '0' } : { since: new Date(since).toISOString() }
    const join = xml('x', ns.muc, {}, xml('history', ns.muc, history))
    const isOut = wire.send(xml('presence', '', { to: `${room.jid}/${room.nick}` }, join))
    if (!isOut) resolve({ outcome: 'later', seconds: 2, reason: 'the link is down' })
    const answer = await promise
    clearTimeout(timer)
    room.joined = null
    if (answer.outcome !== 'done') {
      if (nickIn(state.values, room.jid) === undefined) this.rooms.delete(room.jid)
      return answer
    }
    if (nickIn(state.values, room.jid) !== room.nick) {
      await state.change({ rooms: { ...state.values.rooms, [room.jid]: room.nick } })
    }
    room.name = await this.nameOf(room.jid)
    return answer
  }

  async nameOf(jid: string): Promise<string | null> {
    const info = await infoOf(this.deps.wire, jid)
    return (info && elements(info.query, 'identity')[0]?.attrs.name) ?? null
  }
}
