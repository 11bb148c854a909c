import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { NetworkEvent, Pin } from '../../src/adapters/sandbox/codec.ts'
import { Handsets } from '../handsets.ts'
import { Journal } from '../journal.ts'

/** A message of a handset on the chat network: `inbound` it received, `outbound` it sent. */
export type ChatItem = {
  readonly number: string
  readonly direction: 'inbound' | 'outbound'
  /** The number at the other end. In a group: the sender, or for an outbound message the group's id. */
  readonly peer: string
  readonly group: string | null
  /** Platform numbers involved. */
  readonly lines: readonly string[]
  readonly id: string
  readonly text: string
  readonly at: number
  readonly pin: Pin | null
  /** URL of a received file; `digest` is the SHA-256 of its content. */
  readonly media: string | null
  digest: string | null
  edited?: boolean
  removed?: boolean
  /** For an outbound message: the recipient has read it. */
  read?: boolean
  reaction?: string | null
}

/** A message on the network, for later changes. `unread`: handsets that have not opened it. */
export type Message = {
  readonly id: string
  readonly from: string
  /** A number or a group's id. */
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

/**
 * An event pending for a platform number, due no earlier than `due` (Unix milliseconds). `receipt`: the sender that
 * receives a delivery receipt after the acknowledgement.
 */
export type PendingEvent = {
  readonly seq: number
  readonly line: string
  readonly news: NetworkEvent
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
  | ['letter', PendingEvent]
  | ['kept', number]

const maxMessages = 100_000
const maxPendingEvents = 100_000
const compactAfterLines = 200_000

/** State of the chat network. Every change is in the journal before anyone is notified of it. */
export class ChatState {
  readonly items = new Handsets<ChatItem>()
  readonly rooms = new Map<string, Room>()
  readonly lines = new Set<string>()
  readonly pendingEvents = new Map<number, PendingEvent>()
  /** Address books: names by platform number and contact number. */
  readonly contacts = new Map<string, string>()
  private readonly messages = new Map<string, Message>()
  /** Message ids by sender and the sender's own id. */
  private readonly idsBySenderId = new Map<string, string>()
  private readonly profiles = new Map<string, Profile>()
  private readonly journal: Journal
  private last = Date.now() * 1_000

  constructor(home: string) {
    mkdirSync(home, { recursive: true })
    this.journal = new Journal(join(home, 'chat.jsonl'), (entry) => this.load(entry as Entry)) // written by this class
    this.journal.rewrite(this.entries())
  }

  nextSequence(): number {
    this.last = Math.max(this.last + 1, Date.now() * 1_000)
    return this.last
  }

  message(id: string): Message | null {
    return this.messages.get(id) ?? null
  }

  /** Network id of a message by its sender's own id, if known. */
  idOfSent(line: string, own: string): string | null {
    return this.idsBySenderId.get(`${line} ${own}`) ?? null
  }

  /** Messages of a number that a handset has not opened. */
  *unread(handset: string, from: string): Generator<Message> {
    for (const message of this.messages.values())
      if (message.from === from && message.unread.includes(handset)) yield message
  }

  profile(number: string): Profile | null {
    return this.profiles.get(number) ?? null
  }

  /** Applies and journals a change. */
  record(entry: Entry): void {
    this.load(entry)
    this.journal.append(entry)
  }

  /** Makes all changes so far survive a kill. */
  flush(): void {
    this.journal.flush()
    const alive = this.items.items + this.messages.size + this.pendingEvents.size + this.rooms.size + this.profiles.size
    if (this.journal.length > compactAfterLines && this.journal.length > 4 * alive) this.journal.rewrite(this.entries())
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
        const item = this.items.itemsOf(entry[1]).findLast(({ id }) => id === entry[2])
        if (item) Object.assign(item, entry[3])
        break
      }
      case 'message': {
        const [, message, own] = entry
        this.messages.set(message.id, message)
        if (own !== null) this.idsBySenderId.set(`${message.from} ${own}`, message.id)
        dropOldest(this.messages, maxMessages)
        dropOldest(this.idsBySenderId, maxMessages)
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
        dropOldest(this.contacts, maxMessages)
        break
      case 'letter':
        this.pendingEvents.set(entry[1].seq, entry[1])
        this.last = Math.max(this.last, entry[1].seq)
        dropOldest(this.pendingEvents, maxPendingEvents)
        break
      case 'kept':
        this.pendingEvents.delete(entry[1])
        break
    }
  }

  private *entries(): Generator<Entry> {
    for (const entry of this.items.entries()) if (entry[0] === 'item') yield entry
    const owns = new Map([...this.idsBySenderId].map(([key, id]) => [id, key.slice(key.indexOf(' ') + 1)]))
    for (const message of this.messages.values()) yield ['message', message, owns.get(message.id) ?? null]
    for (const room of this.rooms.values()) yield ['room', room]
    for (const [number, profile] of this.profiles) yield ['profile', number, profile]
    for (const number of this.lines) yield ['line', number, true]
    for (const [key, name] of this.contacts) {
      const [line = '', number = ''] = key.split(' ')
      yield ['contact', line, number, name]
    }
    for (const letter of this.pendingEvents.values()) yield ['letter', letter]
  }
}

/** Drops the oldest entries beyond a maximum. */
const dropOldest = (map: Map<unknown, unknown>, most: number): void => {
  for (const key of map.keys()) {
    if (map.size <= most) return
    map.delete(key)
  }
}
