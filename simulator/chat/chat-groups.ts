import { randomInt } from 'node:crypto'
import type { Group, GroupChange, Participant } from '../../src/adapters/sandbox/codec.ts'
import type { Room } from './chat-state.ts'
import { type MessageRouter, newId, Refusal } from './message-router.ts'
import type { StoredFiles } from './stored-files.ts'

const messages: { readonly [code in Participant['code']]: string } = {
  200: 'added',
  403: 'invited: only its owner lets others add the number',
  404: 'not on the network',
  409: 'already in the group',
}

/** Groups of the network, with their events. */
export class Groups {
  private readonly exchange: MessageRouter
  private readonly files: StoredFiles

  constructor(exchange: MessageRouter, files: StoredFiles) {
    this.exchange = exchange
    this.files = files
  }

  create(
    line: string,
    { name, description, participants }: { name: string; description: string | null; participants: readonly string[] },
  ): { id: string; participants: Participant[] } {
    const room: Room = {
      id: `120363${randomInt(1e11, 1e12)}@g.us`,
      name,
      description,
      picture: null,
      members: [{ number: line, admin: true, creator: true }],
    }
    const answers = participants.map((number) => this.join(room, number))
    this.save(room)
    this.notifyOthers(room, line, 'join', added(answers))
    return { id: room.id, participants: answers }
  }

  groupsOf(line: string): Group[] {
    return [...this.exchange.deps.state.rooms.values()]
      .filter(({ members }) => members.some(({ number }) => number === line))
      .map(({ id, name, description, members }) => ({ id, name, description, members }))
  }

  change(line: string, id: string, change: GroupChange): Participant[] {
    const room = structuredClone(this.exchange.room(id, line))
    if (!room.members.some(({ number, admin }) => number === line && admin))
      throw new Refusal('not_admin', 'only an administrator of the group may change it')
    if (change.act === 'description') room.description = change.text
    else if (change.act === 'picture')
      room.picture = change.image === null ? null : this.files.store(Buffer.from(change.image, 'base64'))
    else return this.changeMembers(room, line, change.act, change.numbers)
    this.save(room)
    this.notifyOthers(room, line, 'changed', [])
    return []
  }

  /** Adds a handset through the invitation link of a group. @throws Refusal */
  enter(number: string, id: string): void {
    const known = this.exchange.deps.state.rooms.get(id)
    if (!known) throw new Refusal('no_group', 'there is no such group')
    const room = structuredClone(known)
    // A link needs only the handset's own consent.
    const code = this.codeOf(room, number)
    if (code === 404 || code === 409) throw new Refusal('not_joined', messages[code])
    room.members.push({ number, admin: false, creator: false })
    this.save(room)
    this.notifyOthers(room, number, 'join', [number])
  }

  /** Removes a handset that leaves or is removed by an administrator. @throws Refusal */
  leave(number: string, id: string, isRemoved: boolean): void {
    const room = structuredClone(this.exchange.room(id, number))
    room.members = room.members.filter((member) => member.number !== number)
    this.save(room)
    this.notifyOthers(room, number, isRemoved ? 'remove' : 'leave', [number])
  }

  private changeMembers(
    room: Room,
    line: string,
    act: 'add' | 'remove' | 'promote' | 'demote',
    numbers: readonly string[],
  ): Participant[] {
    const before = room.members
    const answers = numbers.map((number): Participant => {
      if (act === 'add') return this.join(room, number)
      const member = room.members.find((one) => one.number === number)
      if (!member) return { number, code: 404, message: 'not in the group' }
      if (act === 'remove') room.members = room.members.filter((one) => one !== member)
      else member.admin = act === 'promote'
      return { number, code: 200, message: { remove: 'removed', promote: 'promoted', demote: 'demoted' }[act] }
    })
    this.save(room)
    const done = added(answers)
    if (done.length === 0) return answers
    if (act === 'add') this.notifyOthers(room, line, 'join', done)
    // The removed members are notified too.
    else if (act === 'remove') this.notifyOthers({ ...room, members: before }, line, 'remove', done)
    else this.notifyOthers(room, line, 'changed', done)
    return answers
  }

  private join(room: Room, number: string): Participant {
    const code = this.codeOf(room, number)
    if (code === 200) room.members.push({ number, admin: false, creator: false })
    return { number, code, message: messages[code] }
  }

  private codeOf(room: Room, number: string): Participant['code'] {
    if (room.members.some((member) => member.number === number)) return 409
    if (!this.exchange.isOnNetwork(number)) return 404
    return this.exchange.deps.behaviour(number).groups === 'invite' ? 403 : 200
  }

  private save(room: Room): void {
    this.exchange.deps.state.record(['room', room])
  }

  /** Notifies the platform numbers in a group except the one that acted. */
  private notifyOthers(room: Room, but: string, what: 'join' | 'leave' | 'remove' | 'changed', who: string[]): void {
    const at = Date.now()
    for (const line of this.exchange.others(room, but))
      if (this.exchange.isPlatformNumber(line))
        this.exchange.queueEvent(line, { news: 'group', id: newId(), group: room.id, name: room.name, what, who, at })
  }
}

const added = (answers: readonly Participant[]): string[] =>
  answers.filter(({ code }) => code === 200).map(({ number }) => number)
