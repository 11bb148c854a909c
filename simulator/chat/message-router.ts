import { randomBytes } from 'node:crypto'
import type { CheckedNumber, Inbound, NetworkEvent, Peer, Pin } from '../../src/adapters/sandbox/codec.ts'
import type { Behaviour } from '../handsets.ts'
import type { ChatItem, ChatState, PendingEvent, Profile, Room } from './chat-state.ts'
import type { StoredFiles } from './stored-files.ts'

/** A refusal by the network. */
export class Refusal extends Error {
  readonly code: string
  constructor(code: string, reason: string) {
    super(reason)
    this.code = code
  }
}

export type Deps = {
  readonly state: ChatState
  readonly files: StoredFiles
  /** Settings of a handset, made with PUT. */
  readonly behaviour: (number: string) => Behaviour
  /** The URL of a picture. */
  readonly pictureUrl: (id: string) => string
  /** Called when an event is pending. */
  readonly notify: (letter: PendingEvent) => void
}

/** A message from a platform number; `sending` is the sender's own id. */
export type OutboundMessage = {
  readonly sending: string
  /** The network's id, if already assigned. */
  readonly id?: string
  readonly to: Peer
  readonly text: string | null
  readonly url: string | null
  readonly pin: Pin | null
}

/** A message from a handset; `file` is already stored. */
export type HandsetMessage = {
  readonly to: Peer
  readonly text: string | null
  readonly file: Inbound['file']
  readonly pin: Pin | null
}

/** Milliseconds after which a message can only be removed from the sender's own side. */
const removalWindowMs = 172_800_000

/** Range of a handset's delay before a delivery receipt, milliseconds. */
const [minReceiptMs, maxReceiptMs] = [40, 200]

/** Milliseconds that a handset rings. */
const ringMs = 1_000

export const newId = (): string => `3EB0${randomBytes(9).toString('hex').toUpperCase()}`

/** Routes messages between numbers. */
export class MessageRouter {
  readonly deps: Deps

  constructor(parts: Deps) {
    this.deps = parts
  }

  isPlatformNumber(number: string): boolean {
    return this.deps.state.lines.has(number)
  }

  isOnNetwork(number: string): boolean {
    if (this.isPlatformNumber(number)) return true
    const { on_msgapp } = this.deps.behaviour(number)
    return typeof on_msgapp === 'boolean' ? on_msgapp : !number.endsWith('0006')
  }

  isBusiness(number: string): boolean {
    const { business } = this.deps.behaviour(number)
    return typeof business === 'boolean' ? business : number.endsWith('0007')
  }

  profile(number: string): Profile {
    const name = `${this.isBusiness(number) ? 'Business' : 'Handset'} ${number.slice(-4)}`
    return this.deps.state.profile(number) ?? { name, status: null, picture: null }
  }

  checkNumber(number: string, extra: boolean): CheckedNumber {
    const isRegistered = this.isOnNetwork(number)
    const { name, status, picture } = this.profile(number)
    return {
      number,
      there: isRegistered,
      business: isRegistered && this.isBusiness(number),
      pushname: name,
      picture: isRegistered && picture ? this.deps.pictureUrl(picture) : null,
      status: isRegistered && extra ? (status ?? 'Hey there!') : null,
    }
  }

  /** A group with the given member. @throws Refusal */
  room(id: string, member: string): Room {
    const room = this.deps.state.rooms.get(id)
    if (!room?.members.some(({ number }) => number === member))
      throw new Refusal('no_group', 'the number is in no such group')
    return room
  }

  /** Queues an event for a platform number until acknowledged. @param due not earlier than this, Unix milliseconds */
  queueEvent(line: string, news: NetworkEvent, receipt: PendingEvent['receipt'] = null, due = 0): void {
    const letter: PendingEvent = { seq: this.deps.state.nextSequence(), line, news, receipt, due }
    this.deps.state.record(['letter', letter])
    this.deps.notify(letter)
  }

  /** Sends a message from a platform number; a repeated id is the same message. */
  send(line: string, { sending, id = newId(), to, text, url, pin }: OutboundMessage): { id: string; at: number } {
    const { state } = this.deps
    const known = state.message(state.idOfSent(line, sending) ?? '')
    if (known) return { id: known.id, at: known.at }
    const at = Date.now()
    const targets = 'number' in to ? [to.number] : this.others(this.room(to.group, line), line)
    const registered = targets.filter((number) => this.isOnNetwork(number))
    const handsets = registered.filter((number) => !this.isPlatformNumber(number))
    const where = 'number' in to ? to.number : to.group
    state.record(['message', { id, from: line, to: where, at, unread: handsets }, sending])
    if ('number' in to && registered.length === 0) {
      this.queueEvent(line, {
        news: 'failure',
        id,
        code: 'not_on_network',
        reason: `${where} is not on the network`,
        at,
      })
      return { id, at }
    }
    const group = 'group' in to ? to.group : null
    for (const handset of handsets) {
      this.recordItem({
        ...this.item(handset, 'inbound', line, group, id, at),
        lines: [line],
        text: text ?? '',
        pin,
        media: url,
      })
      this.queueDeliveryReceipt(line, id, handset)
    }
    if (url !== null && handsets.length > 0) void this.recordDigest(handsets, id, url)
    const inbound = { id, from: line, text, pin, at, file: null }
    for (const other of registered)
      if (this.isPlatformNumber(other)) void this.forwardWithFile(other, line, inbound, group, url)
    return { id, at }
  }

  /** Sends a message from a handset. @throws Refusal when no platform number would receive it */
  write(handset: string, { to, text, file, pin }: HandsetMessage, media: string | null): string {
    const id = newId()
    const at = Date.now()
    const group = 'group' in to ? to.group : null
    const lines = 'number' in to ? [to.number] : this.others(this.room(to.group, handset), handset)
    const heard = lines.filter((line) => this.isPlatformNumber(line))
    const [first] = heard
    if (first === undefined) throw new Refusal('no_line', 'no number of the platform can receive it')
    const where = group ?? first
    this.deps.state.record(['message', { id, from: handset, to: where, at, unread: [] }, null])
    this.recordItem({
      ...this.item(handset, 'outbound', where, group, id, at),
      lines: heard,
      text: text ?? '',
      pin,
      media,
    })
    for (const line of heard)
      this.deliverToNumber(line, handset, { id, from: handset, text, file, pin, at }, group, null)
    return id
  }

  /** Opens the messages that a handset received from a number. @returns their count */
  read(handset: string, from: string): number {
    if (!this.isOnNetwork(handset)) throw new Refusal('no_handset', `${handset} is not on the network`)
    const at = Date.now()
    const messages = [...this.deps.state.unread(handset, from)]
    for (const { id } of messages) {
      this.deps.state.record(['opened', id, handset])
      if (this.isPlatformNumber(from)) this.queueEvent(from, { news: 'receipt', id, level: 3, at, by: handset })
    }
    return messages.length
  }

  /** Marks messages as read by a platform number. */
  markRead(line: string, ids: readonly string[]): void {
    for (const id of ids) {
      const message = this.deps.state.message(id)
      if (!message) continue
      if (this.isPlatformNumber(message.from))
        this.queueEvent(message.from, { news: 'receipt', id, level: 3, at: Date.now(), by: line })
      else this.deps.state.record(['mark', message.from, id, { read: true }])
    }
  }

  /** Removes a message: for everyone if the platform number sent it, otherwise on its own side only. */
  remove(line: string, id: string): 'everyone' | 'us' {
    const { state } = this.deps
    const message = state.message(id)
    if (message?.from !== line || Date.now() - message.at > removalWindowMs) return 'us'
    const room = state.rooms.get(message.to)
    for (const number of room ? this.others(room, line) : [message.to])
      if (!this.isPlatformNumber(number)) state.record(['mark', number, id, { removed: true }])
    return 'everyone'
  }

  /** Edits a message that the handset sent, or reacts to one of its messages. @throws Refusal */
  changeMessage(handset: string, id: string, change: { text: string } | { emoji: string | null }): void {
    const { state } = this.deps
    const item = state.items.itemsOf(handset).findLast((one) => one.id === id)
    if (!item || ('text' in change && item.direction === 'inbound'))
      throw new Refusal('no_message', 'the handset has no such message')
    const at = Date.now()
    const news: NetworkEvent =
      'text' in change
        ? { news: 'edited', id, text: change.text, at }
        : { news: 'reaction', id, by: handset, emoji: change.emoji, at }
    state.record(['mark', handset, id, 'text' in change ? { edited: true } : { reaction: change.emoji }])
    for (const line of item.lines) if (this.isPlatformNumber(line)) this.queueEvent(line, news)
  }

  /** Places a call from a handset to a platform number. @throws Refusal */
  call(handset: string, line: string, video: boolean): string {
    if (!this.isPlatformNumber(line)) throw new Refusal('no_line', `${line} is not on the network`)
    const id = newId()
    const at = Date.now()
    const common = { news: 'call', id, from: handset, video } as const
    this.queueEvent(line, { ...common, at, state: 'offered' })
    this.queueEvent(line, { ...common, at: at + ringMs, state: 'ended' }, null, at + ringMs)
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

  private recordItem(item: ChatItem): void {
    this.deps.state.record(['item', item])
  }

  /** Sends a handset's delivery receipt after a short delay. */
  private queueDeliveryReceipt(line: string, id: string, by: string): void {
    const at = Math.ceil(Date.now() + minReceiptMs + Math.random() * (maxReceiptMs - minReceiptMs))
    this.queueEvent(line, { news: 'receipt', id, level: 2, at, by }, null, at)
  }

  private async recordDigest(handsets: readonly string[], id: string, url: string): Promise<void> {
    const digest = await this.deps.files.digest(url)
    for (const handset of handsets) this.deps.state.record(['mark', handset, id, { digest }])
    this.deps.state.flush()
  }

  /** Forwards a message with its file between platform numbers. */
  private async forwardWithFile(
    line: string,
    from: string,
    message: Omit<Inbound, 'pushname' | 'group'>,
    group: string | null,
    url: string | null,
  ): Promise<void> {
    const fetched = url === null ? null : await this.deps.files.fetch(url).catch(() => null)
    const file = fetched && { ...fetched, name: fileNameOf(url ?? '') }
    this.deliverToNumber(line, from, { ...message, file }, group, { to: from, id: message.id })
    this.deps.state.flush()
  }

  private deliverToNumber(
    line: string,
    from: string,
    message: Omit<Inbound, 'pushname' | 'group'>,
    group: string | null,
    receipt: PendingEvent['receipt'],
  ): void {
    const room = group === null ? null : (this.deps.state.rooms.get(group) ?? null)
    const pushname = this.profile(from).name
    const news: NetworkEvent = {
      news: 'message',
      message: { ...message, pushname, group: room && { id: room.id, name: room.name } },
    }
    this.queueEvent(line, news, receipt)
  }
}

/** File name from a URL. */
export const fileNameOf = (url: string): string => {
  const path = URL.parse(url)?.pathname ?? ''
  const last = path.slice(path.lastIndexOf('/') + 1)
  try {
    return decodeURIComponent(last) || 'file'
  } catch {
    return last // invalid percent-encoding
  }
}
