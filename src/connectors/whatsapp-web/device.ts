import type { ChatLine, ChatLineState, ChatTools } from '../chat-port.ts'
import { numberOf } from './codec/jid.ts'
import { insist } from './insist.ts'
import { type DeviceKeys, type LentKeys, openKeys } from './keys.ts'
import type { Library, Message, Node, Socket } from './library.ts'
import { askedType } from './people.ts'
import { isWritten } from './places.ts'
import type { WhatsappWebSettings } from './settings.ts'
import { makeSignal } from './signal.ts'

/** The first wait before another attempt, and the longest, milliseconds; each is taken half to whole, by chance. */
const [shortest, longest] = [500, 60_000]
/** How long a link stands before the next wait is the shortest again, milliseconds. */
const steadyMs = 60_000
/** Attempts that count as made when another program has taken the link: the two would take it from each other without end. */
const takenAttempts = 7
const proofMs = 4_000
/** Round trips that may fail in a row before the socket is given up. */
const mostMisses = 3
/** Codes to scan live for so long: the first, and each after it (as the application does it). */
const [firstCodeMs, codeMs] = [60_000, 20_000]
/** Rounds of codes that nobody scans before the line is given up, until somebody asks for it again. */
const mostRounds = 3

/** What the network says when it closes a socket (baileys, `DisconnectReason`). */
const said = { banned: 403, loggedOut: 401, codesOver: 408, outdated: 405, replaced: 440, restart: 515 } as const

const reasons = new Map<number | null, string>([
  [said.outdated, 'the network finds the version too old: a newer one may be set (client_version of the connection)'],
  [said.replaced, 'another program uses this link'],
])

const silent = { level: 'silent', trace() {}, debug() {}, info() {}, warn() {}, error() {}, fatal() {} }
const quiet = { ...silent, child: () => quiet }

export type Handlers = {
  /** Once for each socket, before it is used. */
  opened(socket: Socket): void
  take(message: Message): Promise<void>
}

type Given = {
  readonly line: ChatLine
  readonly settings: WhatsappWebSettings
  readonly tools: ChatTools
  readonly library: Library
  readonly handlers: Handlers
}

/** A number as a linked device: its keys, its socket, and its coming back. */
export class Device {
  private readonly given: Given
  private keys: DeviceKeys | null = null
  private socket: Socket | null = null
  private lent: LentKeys | null = null
  /** Settled once it is known whose number the socket is: nothing of another one's is kept. */
  private admitted: PromiseWithResolvers<void> | null = null
  /** When the last socket has written all that it ever will. */
  private written: Promise<void> = Promise.resolve()
  private timer: NodeJS.Timeout | null = null
  private attempts = 0
  private rounds = 0
  private misses = 0
  private isUp = false
  /** Milliseconds of `performance.now()`. */
  private upSince = 0
  private isClosed = false

  constructor(given: Given) {
    this.given = given
  }

  /** The socket while the network lets the number in. */
  get connected(): Socket | null {
    return this.isUp ? this.socket : null
  }

  /** Our own address, once a phone has linked the number. */
  get me(): string | null {
    return this.keys?.creds.me?.id ?? null
  }

  async start(): Promise<void> {
    const { library, tools, line } = this.given
    try {
      this.keys = await openKeys(library, tools.vault, line.channel)
      if (!this.isClosed) this.open(this.keys)
    } catch (error) {
      this.again(`the keys could not be read: ${error instanceof Error ? error.message : error}`)
    }
  }

  async prove(): Promise<boolean> {
    const socket = this.connected
    if (!socket) return false
    const ping = {
      tag: 'iq',
      attrs: { to: '@s.whatsapp.net', type: 'get', xmlns: 'w:p' },
      content: [{ tag: 'ping', attrs: {} }],
    }
    const came = await socket.query(ping, proofMs).catch(() => undefined)
    this.misses = came ? 0 : this.misses + 1
    if (this.misses >= mostMisses && this.socket === socket) this.lost('the network does not answer', false)
    return came !== undefined
  }

  /** @param logout also at the network: it must be linked anew then */
  async close(logout: boolean): Promise<void> {
    this.isClosed = true
    if (this.timer) clearTimeout(this.timer)
    const socket = this.drop()
    if (logout) await socket?.logout().catch(() => {})
    void socket?.end(undefined).catch(() => {})
    await this.keys?.end()
  }

  private tell(state: Pick<ChatLineState, 'phase' | 'reason'> & Partial<ChatLineState>): void {
    this.given.tools.events.line(this.given.line.channel, { fatal: false, ...state })
  }

  private drop(): Socket | null {
    const { socket } = this
    if (this.isUp && performance.now() - this.upSince >= steadyMs) this.attempts = 0
    this.admitted?.reject(new Error('the socket is let go'))
    if (this.lent) this.written = this.lent.giveBack()
    this.lent = null
    this.socket = null
    this.isUp = false
    this.misses = 0
    return socket
  }

  /** A socket after another one, once that writes nothing any more. */
  private async reopen(device: DeviceKeys): Promise<void> {
    await this.written
    if (!this.isClosed) this.open(device)
  }

  private open(device: DeviceKeys): void {
    const { library, settings, handlers } = this.given
    this.codes = 0
    // To the library it looks like a message that cannot be opened: over an open socket it would say so, and the network forget it.
    const unkept = (error: unknown) => {
      if (this.socket === socket)
        this.lost(`nothing can be kept now: ${error instanceof Error ? error.message : error}`, false)
      else void socket.end(undefined).catch(() => {})
    }
    const admitted = Promise.withResolvers<void>()
    admitted.promise.catch(() => {})
    this.admitted = admitted
    const lent = device.lend(unkept)
    this.lent = lent
    // Left by a code that nobody typed in: with it the library would log in instead of asking to be linked.
    if (!device.creds.account) delete device.creds.me
    const nodes = new WeakMap<Uint8Array, Node>()
    const version = settings.client_version?.split('.').map(Number)
    const take = async (message: Message) => {
      try {
        await admitted.promise
        await insist(() => handlers.take(message))
      } catch (error) {
        unkept(error)
        throw error
      }
    }
    const socket: Socket = library.makeWASocket({
      auth: { creds: device.creds, keys: library.makeCacheableSignalKeyStore(lent.keys, quiet) },
      logger: quiet,
      ...(version ? { version } : {}),
      ...(settings.websocket_url ? { waWebSocketUrl: settings.websocket_url } : {}),
      makeSignalRepository: makeSignal(library, {
        nodeOf: (bytes) => nodes.get(bytes),
        take,
        changed: () => device.changed(),
      }),
      // Conversations of before the link are none of ours: only what tells who is who is read.
      syncFullHistory: false,
      shouldSyncHistoryMessage: ({ syncType }: { syncType: number }) => syncType !== 2 && syncType !== 3,
      emitOwnEvents: false,
      markOnlineOnConnect: false,
      transactionOpts: { maxCommitRetries: 1, delayBetweenTriesMs: 0 },
    })
    this.socket = socket
    socket.ws.prependListener('frame', (node) => {
      if (node instanceof Uint8Array || node.tag !== 'message' || !Array.isArray(node.content)) return
      for (const { content } of node.content) if (content instanceof Uint8Array) nodes.set(content, node)
    })
    socket.ev.on('creds.update', () => device.changed())
    socket.ev.on('connection.update', ({ connection, qr, lastDisconnect }) => {
      if (this.socket !== socket) return
      if (qr) void this.pair(socket, qr)
      if (connection === 'open') void this.entered(socket)
      if (connection === 'close') {
        const { error } = lastDisconnect ?? {}
        this.closed(error?.output?.statusCode ?? null, error?.message ?? 'the network closed the connection')
      }
    })
    handlers.opened(socket)
  }

  private codes = 0
  private async pair(socket: Socket, qr: string): Promise<void> {
    const { settings, line } = this.given
    const until = Date.now() + (this.codes++ === 0 ? firstCodeMs : codeMs)
    if (settings.linking !== 'code') {
      this.tell({ phase: 'pairing', reason: 'scan the code with the phone of the number: Linked devices', qr, until })
      return
    }
    // Asked for once: the network bears few codes an hour.
    if (this.codes > 1) return
    try {
      const code = await socket.requestPairingCode(line.number.slice(1))
      if (this.socket !== socket) return
      const reason = 'type the code into the phone of the number: Linked devices, Link with phone number'
      this.tell({ phase: 'pairing', reason, code, until: Date.now() + firstCodeMs + 5 * codeMs })
    } catch (error) {
      if (this.socket === socket) this.lost(`no code: ${error instanceof Error ? error.message : error}`, false)
    }
  }

  private async entered(socket: Socket): Promise<void> {
    const { line } = this.given
    const { user } = socket
    const number = numberOf(user?.id ?? '')
    const isOurs = number !== null && (await isWritten(socket, line.number, number))
    if (this.socket !== socket) return
    if (isOurs === null) return this.lost('the network does not say whose number was linked', false)
    if (!isOurs) {
      const whose = number ?? 'another number'
      return this.fail(`it was linked with ${whose} instead of ${line.number}`, { logout: true })
    }
    this.admitted?.resolve()
    this.isUp = true
    this.upSince = performance.now()
    this.rounds = 0
    const { platform = '' } = socket.authState.creds
    this.tell({
      phase: 'connected',
      reason: 'the network let the number in',
      me: {
        ...(user?.name && user.name !== '~' ? { pushname: user.name } : {}),
        server: `${number.slice(1)}@c.us`,
        business: /^smb[ai]$/.test(platform),
      },
    })
  }

  private closed(code: number | null, reason: string): void {
    if (code === said.restart && this.codes > 0) {
      // As it always is after pairing.
      this.drop()
      if (this.keys) void this.reopen(this.keys)
      return
    }
    // The code is also that of a network that cannot be reached.
    const isUnscanned = code === said.codesOver && this.codes > 0 && /QR refs/.test(reason)
    if (code === said.loggedOut) this.fail('the phone has unlinked it')
    else if (code === said.banned) this.fail('the network has banned the number')
    else if (isUnscanned && ++this.rounds >= mostRounds) this.fail('nobody has scanned the code', { forget: false })
    else {
      this.drop()
      if (code === said.replaced) this.attempts = Math.max(this.attempts, takenAttempts)
      this.again(reasons.get(code) ?? reason, isUnscanned)
    }
  }

  /** It does not come back by itself. @param how whether the link is worth nothing any more, and is ended at the network too */
  private fail(reason: string, { forget = true, logout = false } = {}): void {
    const { tools, line } = this.given
    const over = async () => {
      await this.close(logout)
      if (forget) await tools.vault.forget(line.channel, [askedType])
    }
    const told = () => this.tell({ phase: 'failed', reason, fatal: true })
    void over().then(told, told)
  }

  private lost(reason: string, isPairing: boolean): void {
    const socket = this.drop()
    void socket?.end(undefined).catch(() => {})
    this.again(reason, isPairing)
  }

  private again(reason: string, isPairing = false): void {
    if (this.isClosed) return
    const wait = Math.min(longest, shortest * 2 ** this.attempts++) * (0.5 + Math.random() / 2)
    if (!isPairing) this.tell({ phase: 'disconnected', reason })
    this.timer = setTimeout(() => {
      if (this.keys) void this.reopen(this.keys)
      else void this.start()
    }, wait)
  }
}
