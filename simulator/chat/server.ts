import { randomBytes } from 'node:crypto'
import type { Server, Socket } from 'node:net'
import {
  type Attached,
  type Call,
  type Calls,
  chunkBytes,
  decoder,
  encode,
  type Request,
  type ToNetwork,
  type ToPlatform,
} from '../../src/connectors/sandbox/codec.ts'
import { errorStack } from '../../src/lib/error-text.ts'
import type { Book, Letter } from './book.ts'
import { type Exchange, Refusal } from './exchange.ts'
import type { ChatFaults } from './faults.ts'
import type { Files } from './files.ts'
import type { Groups } from './groups.ts'

const { createServer } = process.getBuiltinModule('node:net')

export type ChatParts = {
  readonly book: Book
  readonly files: Files
  readonly exchange: Exchange
  readonly groups: Groups
  readonly faults: ChatFaults
  readonly token: string
}

/** What a line is told and has not kept is told again after so long, milliseconds; and so much at a time. */
const againMs = 3_000
const window = 64

/** A code that is said to hold for ten minutes. */
const newPairing = () => ({ qr: `sandbox:${randomBytes(24).toString('base64url')}`, until: Date.now() + 600_000 })

type Handlers = { readonly [C in Call]: (given: Calls[C]['give'], session: Session) => Calls[C]['take'] }

/** One connection of the platform. */
class Session {
  readonly socket: Socket
  isIn = false
  /** Its lines, and when each of their letters was told last. */
  readonly told = new Map<string, Map<number, number>>()

  constructor(socket: Socket) {
    this.socket = socket
  }
}

/** The network's side of the protocol of src/connectors/sandbox/codec.ts. */
export class ChatServer {
  readonly server: Server
  private readonly parts: ChatParts
  private readonly sessions = new Set<Session>()
  /** Letters that wait, by line, oldest first. */
  private readonly waiting = new Map<string, Map<number, Letter>>()
  /** Lines that wait for a phone, with their codes. */
  private readonly pairings = new Map<string, { qr: string; until: number }>()
  private readonly timer: NodeJS.Timeout
  private held: (() => void)[] = []

  constructor(parts: ChatParts) {
    this.parts = parts
    for (const letter of parts.book.letters.values()) this.await(letter)
    this.server = createServer({ noDelay: true }, (socket) => this.enter(socket))
    this.timer = setInterval(() => this.look(), 500)
    this.timer.unref()
  }

  /** A letter is there. */
  post(letter: Letter): void {
    this.await(letter)
    const ms = letter.due - Date.now()
    if (ms > 0) setTimeout(() => this.bring(letter.line), ms + 1).unref()
    else this.bring(letter.line)
  }

  disconnect(): void {
    for (const { socket } of this.sessions) socket.destroy()
  }

  /** A phone scans the code of a line. False when it shows none. */
  pair(line: string): boolean {
    if (!this.pairings.delete(line)) return false
    this.parts.book.note(['line', line, true])
    this.parts.exchange.tell(line, { news: 'ready', me: this.ready(line) })
    return true
  }

  get state(): { sessions: number; lines: number; letters: number } {
    const { lines, letters } = this.parts.book
    return { sessions: this.sessions.size, lines: lines.size, letters: letters.size }
  }

  close(): void {
    clearInterval(this.timer)
    this.server.close()
    this.disconnect()
  }

  private enter(socket: Socket): void {
    const session = new Session(socket)
    this.sessions.add(session)
    const read = decoder<ToNetwork>()
    socket.on('error', () => {})
    socket.on('close', () => this.sessions.delete(session))
    socket.on('data', (piece: Buffer) => {
      try {
        for (const message of read(piece)) this.hear(session, message)
      } catch (error) {
        process.stderr.write(`chat: ${errorStack(error)}\n`)
        socket.destroy()
      }
    })
  }

  private hear(session: Session, message: ToNetwork): void {
    const { faults, book } = this.parts
    if (faults.has('freeze')) return
    if ('kept' in message) {
      this.kept(message.kept)
      book.flush()
      return
    }
    const answer = this.answer(session, message)
    if (message.ask === 'send' && faults.has('cut')) {
      faults.off('cut')
      book.flush()
      session.socket.destroy()
    } else if (faults.has('slow') && message.ask !== 'ping')
      setTimeout(() => this.write(session, answer), faults.ms('slow')).unref()
    else this.write(session, answer)
    if (message.ask === 'login' && !session.isIn) session.socket.end()
    // Its letters follow its answer.
    if (message.ask === 'attach') for (const line of session.told.keys()) this.bring(line)
  }

  private answer(session: Session, { ask, id, with: given }: Request): ToPlatform {
    try {
      if (ask === 'login') this.login(session, given as Calls['login']['give'])
      else if (!session.isIn) throw new Refusal('login', 'log in first')
      // `with` is what the protocol has for `ask`: both ends are ours.
      const handle = this.handlers[ask] as (given: unknown, session: Session) => unknown
      return { answer: id, value: handle(given, session) }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      return { answer: id, refused: error.message, code: error.code }
    }
  }

  private login(session: Session, { token }: Calls['login']['give']): void {
    if (this.parts.faults.has('refuse') || token !== this.parts.token)
      throw new Refusal('token', 'the token is not known')
    session.isIn = true
  }

  private readonly handlers: Handlers = {
    login: () => ({ network: 'sandbox' }),
    ping: () => ({}),
    attach: ({ line, name }, session) => this.attach(session, line, name),
    detach: ({ line, logout }, session) => {
      session.told.delete(line)
      if (logout) this.parts.book.note(['line', line, false])
      this.pairings.delete(line)
      return {}
    },
    send: ({ line, id, to, text, file, pin }) =>
      this.parts.exchange.send(line, { sending: id, to, text, url: file?.url ?? null, pin }),
    check: ({ numbers, extra }) => ({ found: numbers.map((number) => this.parts.exchange.found(number, extra)) }),
    picture: ({ line, image }) => {
      const picture = image === null ? null : this.parts.files.keep(Buffer.from(image, 'base64'))
      return this.profile(line, { picture })
    },
    status: ({ line, text }) => this.profile(line, { status: text }),
    create: ({ line, ...group }) => this.parts.groups.create(line, group),
    groups: ({ line }) => ({ groups: this.parts.groups.of(line) }),
    change: ({ line, group, change }) => ({ participants: this.parts.groups.change(line, group, change) }),
    contact: ({ line, number, firstName, lastName }) => {
      this.parts.book.note(['contact', line, number, `${firstName} ${lastName}`.trim()])
      return {}
    },
    read: ({ line, ids }) => {
      this.parts.exchange.open(line, ids)
      return {}
    },
    remove: ({ line, id }) => ({ from: this.parts.exchange.remove(line, id) }),
    media: ({ id, offset }) => {
      const found = this.parts.files.piece(id, offset, chunkBytes)
      if (!found) throw new Refusal('no_file', 'the file is not there any more')
      return { piece: found.piece.toString('base64'), end: found.end }
    },
  }

  private attach(session: Session, line: string, name: string): Attached {
    const { book, exchange } = this.parts
    for (const other of this.sessions) other.told.delete(line)
    session.told.set(line, new Map())
    if (book.profile(line)?.name !== name) this.profile(line, { name })
    if (book.lines.has(line)) return this.ready(line)
    if (exchange.parts.behaviour(line).pairing === true) {
      const pairing = this.pairings.get(line) ?? newPairing()
      this.pairings.set(line, pairing)
      return { state: 'pairing', ...pairing }
    }
    book.note(['line', line, true])
    return this.ready(line)
  }

  private ready(line: string): Extract<Attached, { state: 'ready' }> {
    const { exchange } = this.parts
    const { name } = exchange.profile(line)
    return { state: 'ready', pushname: name, server: `${line.slice(1)}@c.us`, business: exchange.isBusiness(line) }
  }

  private profile(line: string, change: { name?: string; status?: string; picture?: string | null }): object {
    this.parts.book.note(['profile', line, { ...this.parts.exchange.profile(line), ...change }])
    return {}
  }

  private await(letter: Letter): void {
    const letters = this.waiting.get(letter.line) ?? new Map<number, Letter>()
    this.waiting.set(letter.line, letters.set(letter.seq, letter))
  }

  private kept(seq: number): void {
    const letter = this.parts.book.letters.get(seq)
    if (!letter) return
    this.parts.book.note(['kept', seq])
    const letters = this.waiting.get(letter.line)
    letters?.delete(seq)
    if (letters?.size === 0) this.waiting.delete(letter.line)
    for (const { told } of this.sessions) told.get(letter.line)?.delete(seq)
    const { receipt, line } = letter
    if (receipt)
      this.parts.exchange.tell(receipt.to, { news: 'receipt', id: receipt.id, level: 2, at: Date.now(), by: line })
    this.bring(letter.line)
  }

  /** Tells a line what waits for it, as far as its window allows. */
  private bring(line: string): void {
    const { faults, book } = this.parts
    if (faults.has('freeze')) return
    for (const session of this.sessions) {
      const told = session.told.get(line)
      if (!told) continue
      for (const letter of this.waiting.get(line)?.values() ?? []) {
        if (told.size >= window) break
        if (told.has(letter.seq) || Date.now() < letter.due) continue
        if (!book.letters.has(letter.seq)) {
          // More wait than are kept, and this was the oldest.
          this.waiting.get(line)?.delete(letter.seq)
          continue
        }
        if (faults.has('late') && letter.news.news === 'receipt' && Date.now() < letter.seq / 1_000 + faults.ms('late'))
          continue
        told.set(letter.seq, Date.now())
        this.say(session, letter)
      }
    }
    book.flush()
  }

  private say(session: Session, { seq, line, news }: Letter): void {
    const { faults } = this.parts
    const write = () => this.write(session, { tell: seq, line, ...news })
    const say = () => {
      write()
      if (faults.has('duplicates')) write()
    }
    if (!faults.has('reorder')) say()
    else {
      this.held.push(say)
      // What comes within a moment is told the other way round.
      if (this.held.length === 1)
        setTimeout(() => {
          const held = this.held
          this.held = []
          for (const one of held.toReversed()) one()
        }, 250).unref()
    }
  }

  /** Tells again what was not kept, and what is no longer held back. */
  private look(): void {
    const now = Date.now()
    for (const { told } of this.sessions)
      for (const letters of told.values()) for (const [seq, at] of letters) if (now - at > againMs) letters.delete(seq)
    for (const line of this.waiting.keys()) this.bring(line)
  }

  /** Nobody is told what a kill would make us forget. */
  private write({ socket }: Session, message: ToPlatform): void {
    if (this.parts.faults.has('freeze') || socket.destroyed) return
    this.parts.book.flush()
    socket.write(encode(message))
  }
}
