import { randomBytes } from 'node:crypto'
import type { Server, Socket } from 'node:net'
import {
  type AttachResult,
  chunkBytes,
  encode,
  makeDecoder,
  type Operation,
  type Operations,
  type Request,
  type ToNetwork,
  type ToPlatform,
} from '../../src/adapters/sandbox/codec.ts'
import { errorStack } from '../../src/platform/lib/error-text.ts'
import type { ChatFaults } from './chat-faults.ts'
import type { Groups } from './chat-groups.ts'
import type { ChatState, PendingEvent } from './chat-state.ts'
import { type MessageRouter, Refusal } from './message-router.ts'
import type { StoredFiles } from './stored-files.ts'

const { createServer } = process.getBuiltinModule('node:net')

export type Deps = {
  readonly state: ChatState
  readonly files: StoredFiles
  readonly router: MessageRouter
  readonly groups: Groups
  readonly faults: ChatFaults
  readonly token: string
}

/**
 * Milliseconds until an unacknowledged event is sent again, and the maximum of unacknowledged events per platform
 * number.
 */
const redeliveryMs = 3_000
const redeliveryWindow = 64

/** A pairing code, valid for ten minutes. */
const newPairing = () => ({ qr: `sandbox:${randomBytes(24).toString('base64url')}`, until: Date.now() + 600_000 })

type Handlers = { readonly [C in Operation]: (input: Operations[C]['give'], session: Session) => Operations[C]['take'] }

/** A connection of the platform. */
class Session {
  readonly socket: Socket
  isLoggedIn = false
  /** Attached numbers, with the time at which each pending event was last sent. */
  readonly lastSent = new Map<string, Map<number, number>>()

  constructor(socket: Socket) {
    this.socket = socket
  }
}

/** Server side of the protocol in src/adapters/sandbox/codec.ts. */
export class ChatServer {
  readonly server: Server
  private readonly deps: Deps
  private readonly sessions = new Set<Session>()
  /** Pending events by number, oldest first. */
  private readonly pending = new Map<string, Map<number, PendingEvent>>()
  /** Numbers that wait for pairing, with their codes. */
  private readonly pairings = new Map<string, { qr: string; until: number }>()
  private readonly timer: NodeJS.Timeout
  private reordered: (() => void)[] = []

  constructor(parts: Deps) {
    this.deps = parts
    for (const letter of parts.state.pendingEvents.values()) this.addPending(letter)
    this.server = createServer({ noDelay: true }, (socket) => this.accept(socket))
    this.timer = setInterval(() => this.redeliver(), 500)
    this.timer.unref()
  }

  /** Adds a pending event. */
  enqueue(letter: PendingEvent): void {
    this.addPending(letter)
    const ms = letter.due - Date.now()
    if (ms > 0) setTimeout(() => this.deliverPending(letter.line), ms + 1).unref()
    else this.deliverPending(letter.line)
  }

  disconnect(): void {
    for (const { socket } of this.sessions) socket.destroy()
  }

  /** Pairs a number whose code was scanned. False when it shows none. */
  pair(line: string): boolean {
    if (!this.pairings.delete(line)) return false
    this.deps.state.record(['line', line, true])
    this.deps.router.queueEvent(line, { news: 'ready', me: this.ready(line) })
    return true
  }

  get state(): { sessions: number; lines: number; letters: number } {
    const { lines, pendingEvents } = this.deps.state
    return { sessions: this.sessions.size, lines: lines.size, letters: pendingEvents.size }
  }

  close(): void {
    clearInterval(this.timer)
    this.server.close()
    this.disconnect()
  }

  private accept(socket: Socket): void {
    const session = new Session(socket)
    this.sessions.add(session)
    const read = makeDecoder<ToNetwork>()
    socket.on('error', () => {})
    socket.on('close', () => this.sessions.delete(session))
    socket.on('data', (piece: Buffer) => {
      try {
        for (const message of read(piece)) this.handleMessage(session, message)
      } catch (error) {
        process.stderr.write(`chat: ${errorStack(error)}\n`)
        socket.destroy()
      }
    })
  }

  private handleMessage(session: Session, message: ToNetwork): void {
    const { faults, state } = this.deps
    if (faults.has('freeze')) return
    if ('kept' in message) {
      this.acknowledge(message.kept)
      state.flush()
      return
    }
    const answer = this.answer(session, message)
    if (message.ask === 'send' && faults.has('cut')) {
      faults.deactivate('cut')
      state.flush()
      session.socket.destroy()
    } else if (faults.has('slow') && message.ask !== 'ping')
      setTimeout(() => this.write(session, answer), faults.ms('slow')).unref()
    else this.write(session, answer)
    if (message.ask === 'login' && !session.isLoggedIn) session.socket.end()
    // Pending events follow the response.
    if (message.ask === 'attach') for (const line of session.lastSent.keys()) this.deliverPending(line)
  }

  private answer(session: Session, { ask, id, with: input }: Request): ToPlatform {
    try {
      if (ask === 'login') this.login(session, input as Operations['login']['give'])
      else if (!session.isLoggedIn) throw new Refusal('login', 'log in first')
      // Both ends are ours, so `with` has the type that belongs to `ask`.
      const handle = this.handlers[ask] as (input: unknown, session: Session) => unknown
      return { answer: id, value: handle(input, session) }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      return { answer: id, refused: error.message, code: error.code }
    }
  }

  private login(session: Session, { token }: Operations['login']['give']): void {
    if (this.deps.faults.has('refuse') || token !== this.deps.token)
      throw new Refusal('token', 'the token is not known')
    session.isLoggedIn = true
  }

  private readonly handlers: Handlers = {
    login: () => ({ network: 'sandbox' }),
    ping: () => ({}),
    attach: ({ line, name }, session) => this.attach(session, line, name),
    detach: ({ line, logout }, session) => {
      session.lastSent.delete(line)
      if (logout) this.deps.state.record(['line', line, false])
      this.pairings.delete(line)
      return {}
    },
    send: ({ line, id, to, text, file, pin }) =>
      this.deps.router.send(line, { sending: id, to, text, url: file?.url ?? null, pin }),
    check: ({ numbers, extra }) => ({ found: numbers.map((number) => this.deps.router.checkNumber(number, extra)) }),
    picture: ({ line, image }) => {
      const picture = image === null ? null : this.deps.files.store(Buffer.from(image, 'base64'))
      return this.profile(line, { picture })
    },
    status: ({ line, text }) => this.profile(line, { status: text }),
    create: ({ line, ...group }) => this.deps.groups.create(line, group),
    groups: ({ line }) => ({ groups: this.deps.groups.groupsOf(line) }),
    change: ({ line, group, change }) => ({ participants: this.deps.groups.change(line, group, change) }),
    contact: ({ line, number, firstName, lastName }) => {
      this.deps.state.record(['contact', line, number, `${firstName} ${lastName}`.trim()])
      return {}
    },
    read: ({ line, ids }) => {
      this.deps.router.markRead(line, ids)
      return {}
    },
    remove: ({ line, id }) => ({ from: this.deps.router.remove(line, id) }),
    media: ({ id, offset }) => {
      const found = this.deps.files.piece(id, offset, chunkBytes)
      if (!found) throw new Refusal('no_file', 'the file is no longer stored')
      return { piece: found.piece.toString('base64'), end: found.end }
    },
  }

  private attach(session: Session, line: string, name: string): AttachResult {
    const { state, router } = this.deps
    for (const other of this.sessions) other.lastSent.delete(line)
    session.lastSent.set(line, new Map())
    if (state.profile(line)?.name !== name) this.profile(line, { name })
    if (state.lines.has(line)) return this.ready(line)
    if (router.deps.behaviour(line).pairing === true) {
      const pairing = this.pairings.get(line) ?? newPairing()
      this.pairings.set(line, pairing)
      return { state: 'pairing', ...pairing }
    }
    state.record(['line', line, true])
    return this.ready(line)
  }

  private ready(line: string): Extract<AttachResult, { state: 'ready' }> {
    const { router } = this.deps
    const { name } = router.profile(line)
    return { state: 'ready', pushname: name, server: `${line.slice(1)}@c.us`, business: router.isBusiness(line) }
  }

  private profile(line: string, change: { name?: string; status?: string; picture?: string | null }): object {
    this.deps.state.record(['profile', line, { ...this.deps.router.profile(line), ...change }])
    return {}
  }

  private addPending(letter: PendingEvent): void {
    const letters = this.pending.get(letter.line) ?? new Map<number, PendingEvent>()
    this.pending.set(letter.line, letters.set(letter.seq, letter))
  }

  private acknowledge(seq: number): void {
    const letter = this.deps.state.pendingEvents.get(seq)
    if (!letter) return
    this.deps.state.record(['kept', seq])
    const letters = this.pending.get(letter.line)
    letters?.delete(seq)
    if (letters?.size === 0) this.pending.delete(letter.line)
    for (const { lastSent } of this.sessions) lastSent.get(letter.line)?.delete(seq)
    const { receipt, line } = letter
    if (receipt)
      this.deps.router.queueEvent(receipt.to, { news: 'receipt', id: receipt.id, level: 2, at: Date.now(), by: line })
    this.deliverPending(letter.line)
  }

  /** Sends pending events of a number within its window. */
  private deliverPending(line: string): void {
    const { faults, state } = this.deps
    if (faults.has('freeze')) return
    for (const session of this.sessions) {
      const lastSent = session.lastSent.get(line)
      if (!lastSent) continue
      for (const letter of this.pending.get(line)?.values() ?? []) {
        if (lastSent.size >= redeliveryWindow) break
        if (lastSent.has(letter.seq) || Date.now() < letter.due) continue
        if (!state.pendingEvents.has(letter.seq)) {
          // The oldest pending event was dropped by the limit.
          this.pending.get(line)?.delete(letter.seq)
          continue
        }
        if (faults.has('late') && letter.news.news === 'receipt' && Date.now() < letter.seq / 1_000 + faults.ms('late'))
          continue
        lastSent.set(letter.seq, Date.now())
        this.sendEvent(session, letter)
      }
    }
    state.flush()
  }

  private sendEvent(session: Session, { seq, line, news }: PendingEvent): void {
    const { faults } = this.deps
    const write = () => this.write(session, { tell: seq, line, ...news })
    const say = () => {
      write()
      if (faults.has('duplicates')) write()
    }
    if (!faults.has('reorder')) say()
    else {
      this.reordered.push(say)
      // Events within 250 ms are sent in reverse order.
      if (this.reordered.length === 1)
        setTimeout(() => {
          const held = this.reordered
          this.reordered = []
          for (const one of held.toReversed()) one()
        }, 250).unref()
    }
  }

  /** Resends unacknowledged events and those whose delay has passed. */
  private redeliver(): void {
    const now = Date.now()
    for (const { lastSent } of this.sessions)
      for (const letters of lastSent.values())
        for (const [seq, at] of letters) if (now - at > redeliveryMs) letters.delete(seq)
    for (const line of this.pending.keys()) this.deliverPending(line)
  }

  /**
   * Flushes first: a client must not learn of a change that a kill would lose. Messages of one turn of the event loop
   * share the flush and the write.
   */
  private write({ socket }: Session, message: ToPlatform): void {
    if (this.deps.faults.has('freeze') || socket.destroyed) return
    if (socket.writableCorked === 0) {
      socket.cork()
      setImmediate(() => {
        this.deps.state.flush()
        socket.uncork()
      })
    }
    socket.write(encode(message))
  }
}
