import { randomBytes } from 'node:crypto'
import type { Found, Inbound, News, Peer, Pin } from '../../src/connectors/sandbox/codec.ts'
import type { Behaviour } from '../handsets.ts'
import type { Book, ChatItem, Letter, Profile, Room } from './book.ts'
import type { Files } from './files.ts'

/** A refusal, as the network answers it. */
export class Refusal extends Error {
  readonly code: string
  constructor(code: string, reason: string) {
    super(reason)
    this.code = code
  }
}

export type ExchangeParts = {
  readonly book: Book
  readonly files: Files
  /** How a handset behaves: what PUT said of it. */
  readonly behaviour: (number: string) => Behaviour
  /** The address of a picture. */
  readonly pictureUrl: (id: string) => string
  /** A letter is there to be told. */
  readonly post: (letter: Letter) => void
}

/** A message of a line: `sending` is the line's own id of it. */
export type Sending = {
  readonly sending: string
  /** The network's, where it has one already. */
  readonly id?: string
  readonly to: Peer
  readonly text: string | null
  readonly url: string | null
  readonly pin: Pin | null
}

/** A message of a handset; `file` has been fetched. */
export type Writing = {
  readonly to: Peer
  readonly text: string | null
  readonly file: Inbound['file']
  readonly pin: Pin | null
}

/** After so long a message is taken back from the line's own side alone, milliseconds. */
const removable = 172_800_000

/** How long a handset takes to say that it got something, milliseconds. */
const [least, most] = [40, 200]

/** How long a handset rings, milliseconds. */
const ringing = 1_000

export const newId = (): string => `3EB0${randomBytes(9).toString('hex').toUpperCase()}`

/** How messages go from one to another. */
export class Exchange {
  readonly parts: ExchangeParts

  constructor(parts: ExchangeParts) {
    this.parts = parts
  }

  isLine(number: string): boolean {
    return this.parts.book.lines.has(number)
  }

  isThere(number: string): boolean {
    if (this.isLine(number)) return true
    const { on_msgapp } = this.parts.behaviour(number)
    return typeof on_msgapp === 'boolean' ? on_msgapp : !number.endsWith('0006')
  }

  isBusiness(number: string): boolean {
    const { business } = this.parts.behaviour(number)
    return typeof business === 'boolean' ? business : number.endsWith('0007')
  }

  profile(number: string): Profile {
    const name = `${this.isBusiness(number) ? 'Business' : 'Handset'} ${number.slice(-4)}`
    return this.parts.book.profile(number) ?? { name, status: null, picture: null }
  }

  found(number: string, extra: boolean): Found {
    const there = this.isThere(number)
    const { name, status, picture } = this.profile(number)
    return {
      number,
      there,
      business: there && this.isBusiness(number),
      pushname: name,
      picture: there && picture ? this.parts.pictureUrl(picture) : null,
      status: there && extra ? (status ?? 'Hey there!') : null,
    }
  }

  /** A group that somebody is in. @throws Refusal */
  room(id: string, member: string): Room {
    const room = this.parts.book.rooms.get(id)
    if (!room?.members.some(({ number }) => number === member))
      throw new Refusal('no_group', 'the number is in no such group')
    return room
  }

  /** Tells a line, until it says that it has kept it. @param due not before, Unix milliseconds */
  tell(line: string, news: News, receipt: Letter['receipt'] = null, due = 0): void {
    const letter: Letter = { seq: this.parts.book.nextSeq(), line, news, receipt, due }
    this.parts.book.note(['letter', letter])
    this.parts.post(letter)
  }

  /** A line sends; the same id again is the same message. */
  send(line: string, { sending, id = newId(), to, text, url, pin }: Sending): { id: string; at: number } {
    const { book } = this.parts
    const known = book.message(book.sentAs(line, sending) ?? '')
    if (known) return { id: known.id, at: known.at }
    const at = Date.now()
    const targets = 'number' in to ? [to.number] : this.others(this.room(to.group, line), line)
    const there = targets.filter((number) => this.isThere(number))
    const handsets = there.filter((number) => !this.isLine(number))
    const where = 'number' in to ? to.number : to.group
    book.note(['message', { id, from: line, to: where, at, unread: handsets }, sending])
    if ('number' in to && there.length === 0) {
      this.tell(line, { news: 'failure', id, code: 'not_on_network', reason: `${where} is not on the network`, at })
      return { id, at }
    }
    const group = 'group' in to ? to.group : null
    for (const handset of handsets) {
      this.see({
        ...this.item(handset, 'inbound', line, group, id, at),
        lines: [line],
        text: text ?? '',
        pin,
        media: url,
      })
      this.arrive(line, id, handset)
    }
    if (url !== null && handsets.length > 0) void this.fetched(handsets, id, url)
    const inbound = { id, from: line, text, pin, at, file: null }
    for (const other of there) if (this.isLine(other)) void this.carry(other, line, inbound, group, url)
    return { id, at }
  }

  /** A handset writes. @throws Refusal when nobody of the platform would hear it */
  write(handset: string, { to, text, file, pin }: Writing, media: string | null): string {
    const id = newId()
    const at = Date.now()
    const group = 'group' in to ? to.group : null
    const lines = 'number' in to ? [to.number] : this.others(this.room(to.group, handset), handset)
    const heard = lines.filter((line) => this.isLine(line))
    const [first] = heard
    if (first === undefined) throw new Refusal('no_line', 'no number of the platform is there')
    const where = group ?? first
    this.parts.book.note(['message', { id, from: handset, to: where, at, unread: [] }, null])
    this.see({ ...this.item(handset, 'outbound', where, group, id, at), lines: heard, text: text ?? '', pin, media })
    for (const line of heard) this.bring(line, handset, { id, from: handset, text, file, pin, at }, group, null)
    return id
  }

  /** A handset opens what it got from a number. @returns how many messages */
  read(handset: string, from: string): number {
    const at = Date.now()
    const messages = [...this.parts.book.unread(handset, from)]
    for (const { id } of messages) {
      this.parts.book.note(['opened', id, handset])
      if (this.isLine(from)) this.tell(from, { news: 'receipt', id, level: 3, at, by: handset })
    }
    return messages.length
  }

  /** A line opens messages that it got. */
  open(line: string, ids: readonly string[]): void {
    for (const id of ids) {
      const message = this.parts.book.message(id)
      if (!message) continue
      if (this.isLine(message.from))
        this.tell(message.from, { news: 'receipt', id, level: 3, at: Date.now(), by: line })
      else this.parts.book.note(['mark', message.from, id, { read: true }])
    }
  }

  /** A line takes back what it sent, or forgets what it got. */
  remove(line: string, id: string): 'everyone' | 'us' {
    const { book } = this.parts
    const message = book.message(id)
    if (message?.from !== line || Date.now() - message.at > removable) return 'us'
    const room = book.rooms.get(message.to)
    for (const number of room ? this.others(room, line) : [message.to])
      if (!this.isLine(number)) book.note(['mark', number, id, { removed: true }])
    return 'everyone'
  }

  /** What a handset did to a message: its own, or one that it got. @throws Refusal */
  touch(handset: string, id: string, change: { text: string } | { emoji: string | null }): void {
    const { book } = this.parts
    const item = book.items.seen(handset).findLast((one) => one.id === id)
    if (!item || ('text' in change && item.direction === 'inbound'))
      throw new Refusal('no_message', 'the handset has no such message')
    const at = Date.now()
    const news: News =
      'text' in change
        ? { news: 'edited', id, text: change.text, at }
        : { news: 'reaction', id, by: handset, emoji: change.emoji, at }
    book.note(['mark', handset, id, 'text' in change ? { edited: true } : { reaction: change.emoji }])
    for (const line of item.lines) if (this.isLine(line)) this.tell(line, news)
  }

  /** A handset calls a line. @throws Refusal */
  call(handset: string, line: string, video: boolean): string {
    if (!this.isLine(line)) throw new Refusal('no_line', `${line} is not on the network`)
    const id = newId()
    const at = Date.now()
    const common = { news: 'call', id, from: handset, video } as const
    this.tell(line, { ...common, at, state: 'offered' })
    this.tell(line, { ...common, at: at + ringing, state: 'ended' }, null, at + ringing)
    return id
  }

  others(room: Room, but: string): string[] {
    return room.members.map(({ number }) => number).filter((number) => number !== but)
  }

  private item(
    number: string,
    direction: ChatItem['direction'],
    peer: string,
    group: string | null,
    id: string,
    at: number,
  ): Omit<ChatItem, 'text' | 'pin' | 'media' | 'lines'> {
    return { number, direction, peer, group, id, at, digest: null }
  }

  private see(item: ChatItem): void {
    this.parts.book.note(['item', item])
  }

  /** A handset says that it got something, a moment later. */
  private arrive(line: string, id: string, by: string): void {
    const at = Math.ceil(Date.now() + least + Math.random() * (most - least))
    this.tell(line, { news: 'receipt', id, level: 2, at, by }, null, at)
  }

  private async fetched(handsets: readonly string[], id: string, url: string): Promise<void> {
    const digest = await this.parts.files.digest(url)
    for (const handset of handsets) this.parts.book.note(['mark', handset, id, { digest }])
    this.parts.book.flush()
  }

  /** From one line to another, with its file. */
  private async carry(
    line: string,
    from: string,
    message: Omit<Inbound, 'pushname' | 'group'>,
    group: string | null,
    url: string | null,
  ): Promise<void> {
    const kept = url === null ? null : await this.parts.files.fetch(url).catch(() => null)
    const file = kept && { ...kept, name: nameOf(url ?? '') }
    this.bring(line, from, { ...message, file }, group, { to: from, id: message.id })
    this.parts.book.flush()
  }

  private bring(
    line: string,
    from: string,
    message: Omit<Inbound, 'pushname' | 'group'>,
    group: string | null,
    receipt: Letter['receipt'],
  ): void {
    const room = group === null ? null : (this.parts.book.rooms.get(group) ?? null)
    const pushname = this.profile(from).name
    const news: News = {
      news: 'message',
      message: { ...message, pushname, group: room && { id: room.id, name: room.name } },
    }
    this.tell(line, news, receipt)
  }
}

/** What a file is called, by its address. */
export const nameOf = (url: string): string => {
  const path = URL.parse(url)?.pathname ?? ''
  const last = path.slice(path.lastIndexOf('/') + 1)
  try {
    return decodeURIComponent(last) || 'file'
  } catch {
    return last // of an encoding that is none
  }
}
