import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { News, Pin } from '../../src/connectors/sandbox/codec.ts'
import { Handsets } from '../handsets.ts'
import { Journal } from '../journal.ts'

/** Something that a handset saw on the chat network: `inbound` came to it, `outbound` it wrote. */
export type ChatItem = {
  readonly number: string
  readonly direction: 'inbound' | 'outbound'
  /** The number at the other end; in a group, who wrote, or for what the handset wrote the group's id. */
  readonly peer: string
  readonly group: string | null
  /** The platform's numbers that have to do with it. */
  readonly lines: readonly string[]
  readonly id: string
  readonly text: string
  readonly at: number
  readonly pin: Pin | null
  /** An address, of what came to it; and the SHA-256 of what lay there. */
  readonly media: string | null
  digest: string | null
  edited?: boolean
  removed?: boolean
  /** Of what the handset wrote: the other end has seen it. */
  read?: boolean
  reaction?: string | null
}

/** A message on the network, for what is done to it later. `unread`: handsets that have not opened it. */
export type Message = {
  readonly id: string
  readonly from: string
  /** A number, or a group's id. */
  readonly to: string
  readonly at: number
  unread: string[]
}

export type Room = {
  readonly id: string
  name: string
  description: string | null
  picture: string | null
  members: { number: string; admin: boolean; creator: boolean }[]
}

export type Profile = { name: string; status: string | null; picture: string | null }

/** What a line is still to be told, and not before `due` (Unix milliseconds). `receipt`: who hears that it got there, once it
 *  says so. */
export type Letter = {
  readonly seq: number
  readonly line: string
  readonly news: News
  readonly receipt: { readonly to: string; readonly id: string } | null
  readonly due: number
}

type Entry =
  | ['item', ChatItem]
  | ['mark', string, string, Partial<ChatItem>]
  | ['message', Message, string | null]
  | ['opened', string, string]
  | ['room', Room]
  | ['profile', string, Profile]
  | ['line', string, boolean]
  | ['contact', string, string, string]
  | ['letter', Letter]
  | ['kept', number]

const mostMessages = 100_000
const mostLetters = 100_000
const longJournal = 200_000

/** What the chat network knows. All of it is in the journal, and there before anybody is told. */
export class Book {
  readonly items = new Handsets<ChatItem>()
  readonly rooms = new Map<string, Room>()
  readonly lines = new Set<string>()
  readonly letters = new Map<number, Letter>()
  /** Address books: names by the line and the number. */
  readonly contacts = new Map<string, string>()
  private readonly messages = new Map<string, Message>()
  /** Messages by whom they are from and the sender's own id. */
  private readonly sent = new Map<string, string>()
  private readonly profiles = new Map<string, Profile>()
  private readonly journal: Journal
  private last = Date.now() * 1_000

  constructor(home: string) {
    mkdirSync(home, { recursive: true })
    this.journal = new Journal(join(home, 'chat.jsonl'), (entry) => this.load(entry as Entry)) // our own file
    this.journal.rewrite(this.entries())
  }

  nextSeq(): number {
    this.last = Math.max(this.last + 1, Date.now() * 1_000)
    return this.last
  }

  message(id: string): Message | null {
    return this.messages.get(id) ?? null
  }

  /** The id of what a line sent by its own id, when it is known already. */
  sentAs(line: string, own: string): string | null {
    return this.sent.get(`${line} ${own}`) ?? null
  }

  /** What a handset has not opened of a number's messages. */
  *unread(handset: string, from: string): Generator<Message> {
    for (const message of this.messages.values())
      if (message.from === from && message.unread.includes(handset)) yield message
  }

  profile(number: string): Profile | null {
    return this.profiles.get(number) ?? null
  }

  /** Notes what happened. */
  note(entry: Entry): void {
    this.load(entry)
    this.journal.append(entry)
  }

  /** Makes everything so far outlive a kill. */
  flush(): void {
    this.journal.flush()
    const alive = this.items.items + this.messages.size + this.letters.size + this.rooms.size + this.profiles.size
    if (this.journal.length > longJournal && this.journal.length > 4 * alive) this.journal.rewrite(this.entries())
  }

  close(): void {
    this.journal.close()
  }

  private load(entry: Entry): void {
    switch (entry[0]) {
      case 'item':
        this.items.add(entry[1])
        break
      case 'mark': {
        const item = this.items.seen(entry[1]).findLast(({ id }) => id === entry[2])
        if (item) Object.assign(item, entry[3])
        break
      }
      case 'message': {
        const [, message, own] = entry
        this.messages.set(message.id, message)
        if (own !== null) this.sent.set(`${message.from} ${own}`, message.id)
        shorten(this.messages, mostMessages)
        shorten(this.sent, mostMessages)
        break
      }
      case 'opened': {
        const message = this.messages.get(entry[1])
        if (message) message.unread = message.unread.filter((handset) => handset !== entry[2])
        break
      }
      case 'room':
        this.rooms.set(entry[1].id, entry[1])
        break
      case 'profile':
        this.profiles.set(entry[1], entry[2])
        break
      case 'line':
        if (entry[2]) this.lines.add(entry[1])
        else this.lines.delete(entry[1])
        break
      case 'contact':
        this.contacts.set(`${entry[1]} ${entry[2]}`, entry[3])
        shorten(this.contacts, mostMessages)
        break
      case 'letter':
        this.letters.set(entry[1].seq, entry[1])
        this.last = Math.max(this.last, entry[1].seq)
        shorten(this.letters, mostLetters)
        break
      case 'kept':
        this.letters.delete(entry[1])
        break
    }
  }

  private *entries(): Generator<Entry> {
    for (const entry of this.items.entries()) if (entry[0] === 'item') yield entry
    const owns = new Map([...this.sent].map(([key, id]) => [id, key.slice(key.indexOf(' ') + 1)]))
    for (const message of this.messages.values()) yield ['message', message, owns.get(message.id) ?? null]
    for (const room of this.rooms.values()) yield ['room', room]
    for (const [number, profile] of this.profiles) yield ['profile', number, profile]
    for (const number of this.lines) yield ['line', number, true]
    for (const [key, name] of this.contacts) {
      const [line = '', number = ''] = key.split(' ')
      yield ['contact', line, number, name]
    }
    for (const letter of this.letters.values()) yield ['letter', letter]
  }
}

/** Drops the oldest beyond a number. */
const shorten = (map: Map<unknown, unknown>, most: number): void => {
  for (const key of map.keys()) {
    if (map.size <= most) return
    map.delete(key)
  }
}
