import { randomInt } from 'node:crypto'
import type { Group, GroupChange, Participant } from '../../src/connectors/sandbox/codec.ts'
import type { Room } from './book.ts'
import { type Exchange, newId, Refusal } from './exchange.ts'
import type { Files } from './files.ts'

const messages: { readonly [code in Participant['code']]: string } = {
  200: 'added',
  403: 'invited: only its owner lets others add the number',
  404: 'not on the network',
  409: 'already in the group',
}

/** The groups of the network, and what is told of them. */
export class Groups {
  private readonly exchange: Exchange
  private readonly files: Files

  constructor(exchange: Exchange, files: Files) {
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
    this.keep(room)
    this.tellOthers(room, line, 'join', added(answers))
    return { id: room.id, participants: answers }
  }

  of(line: string): Group[] {
    return [...this.exchange.parts.book.rooms.values()]
      .filter(({ members }) => members.some(({ number }) => number === line))
      .map(({ id, name, description, members }) => ({ id, name, description, members }))
  }

  change(line: string, id: string, change: GroupChange): Participant[] {
    const room = structuredClone(this.exchange.room(id, line))
    if (!room.members.some(({ number, admin }) => number === line && admin))
      throw new Refusal('not_admin', 'only who runs the group may change it')
    if (change.act === 'description') room.description = change.text
    else if (change.act === 'picture')
      room.picture = change.image === null ? null : this.files.keep(Buffer.from(change.image, 'base64'))
    else return this.people(room, line, change.act, change.numbers)
    this.keep(room)
    this.tellOthers(room, line, 'changed', [])
    return []
  }

  /** Somebody goes by themselves. */
  leave(number: string, id: string): void {
    const room = structuredClone(this.exchange.room(id, number))
    room.members = room.members.filter((member) => member.number !== number)
    this.keep(room)
    this.tellOthers(room, number, 'leave', [number])
  }

  private people(
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
    this.keep(room)
    const done = added(answers)
    if (done.length === 0) return answers
    if (act === 'add') this.tellOthers(room, line, 'join', done)
    // Who was removed hears of it too.
    else if (act === 'remove') this.tellOthers({ ...room, members: before }, line, 'remove', done)
    else this.tellOthers(room, line, 'changed', done)
    return answers
  }

  private join(room: Room, number: string): Participant {
    const code = this.codeOf(room, number)
    if (code === 200) room.members.push({ number, admin: false, creator: false })
    return { number, code, message: messages[code] }
  }

  private codeOf(room: Room, number: string): Participant['code'] {
    if (room.members.some((member) => member.number === number)) return 409
    if (!this.exchange.isThere(number)) return 404
    return this.exchange.parts.behaviour(number).groups === 'invite' ? 403 : 200
  }

  private keep(room: Room): void {
    this.exchange.parts.book.note(['room', room])
  }

  /** Tells the lines in a group, but for the one that did it. */
  private tellOthers(room: Room, but: string, what: 'join' | 'leave' | 'remove' | 'changed', who: string[]): void {
    const at = Date.now()
    for (const line of this.exchange.others(room, but))
      if (this.exchange.isLine(line))
        this.exchange.tell(line, { news: 'group', id: newId(), group: room.id, name: room.name, what, who, at })
  }
}

const added = (answers: readonly Participant[]): string[] =>
  answers.filter(({ code }) => code === 200).map(({ number }) => number)
