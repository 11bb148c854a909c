import type { ChatChannel, ChatChannelState, ChatDeps } from '../../ports/chat.ts'
import { numberOf } from './codec/jid.ts'
import { type DeviceKeys, type KeyLease, openDeviceKeys } from './device-keys.ts'
import { isSameNumber } from './jid-lookup.ts'
import type { BinaryNode, Library, Message, WASocket } from './library.ts'
import { maxCodeRounds, maxMissedPings, pingTimeoutMs, replacedAttempts, stableLinkMs } from './limits.ts'
import { requestedNumberType } from './number-aliases.ts'
import { retry } from './retry.ts'
import { makeSignalRepository } from './signal-repository.ts'
import type { WhatsappWebSettings } from './whatsapp-web-settings.ts'

/** First and longest delay between attempts in ms; each is randomised between half and full. */
const [shortest, longest] = [500, 60_000]
/** Validity in milliseconds of the first code to scan and of each later one, as in the application. */
const [firstCodeMs, codeMs] = [60_000, 20_000]

/** Close codes of the network (baileys, `DisconnectReason`). */
const closeCodes = { banned: 403, loggedOut: 401, codesOver: 408, outdated: 405, replaced: 440, restart: 515 } as const

const reasonTexts = new Map<number | null, string>([
  [closeCodes.outdated, 'the network rejects this client version: set a newer client_version on the connection'],
  [closeCodes.replaced, 'another program uses this link'],
])

const silent = { level: 'silent', trace() {}, debug() {}, info() {}, warn() {}, error() {}, fatal() {} }
const silentLogger = { ...silent, child: () => silentLogger }

export type DeviceHandlers = {
  /** Called once for each socket, before it is used. */
  opened(socket: WASocket): void
  handleMessage(message: Message): Promise<void>
}

type Deps = {
  readonly line: ChatChannel
  readonly settings: WhatsappWebSettings
  readonly tools: ChatDeps
  readonly library: Library
  readonly handlers: DeviceHandlers
}

/** A number as a linked device, with its keys and its socket; it reconnects after failures. */
export class LinkedDevice {
  private readonly deps: Deps
  private keys: DeviceKeys | null = null
  private socket: WASocket | null = null
  private lease: KeyLease | null = null
  /** Resolved once the number of the socket is verified; messages of another number are never persisted. */
  private ownership: PromiseWithResolvers<void> | null = null
  /** Resolves after the last socket's final write. */
  private written: Promise<void> = Promise.resolve()
  private timer: NodeJS.Timeout | null = null
  private attempts = 0
  private rounds = 0
  private missedPings = 0
  private isUp = false
  /** Milliseconds of `performance.now()`. */
  private upSince = 0
  private isClosed = false

  constructor(deps: Deps) {
    this.deps = deps
  }

  /** The socket while authenticated. */
  get connected(): WASocket | null {
    return this.isUp ? this.socket : null
  }

  /** Our own address, once a phone has linked the number. */
  get me(): string | null {
    return this.keys?.creds.me?.id ?? null
  }

  async start(): Promise<void> {
    const { library, tools, line } = this.deps
    try {
      this.keys = await openDeviceKeys(library, tools.credentials, line.channel)
      if (!this.isClosed) this.open(this.keys)
    } catch (error) {
      this.scheduleReconnect(`the keys could not be read: ${error instanceof Error ? error.message : error}`)
    }
  }

  async ping(): Promise<boolean> {
    const socket = this.connected
    if (!socket) return false
    const ping = {
      tag: 'iq',
      attrs: { to: '@s.whatsapp.net', type: 'get', xmlns: 'w:p' },
      content: [{ tag: 'ping', attrs: {} }],
    }
    const came = await socket.query(ping, pingTimeoutMs).catch(() => undefined)
    this.missedPings = came ? 0 : this.missedPings + 1
    if (this.missedPings >= maxMissedPings && this.socket === socket)
      this.reconnect('the network does not answer', false)
    return came !== undefined
  }

  /** @param logout also unlinks the device at the network; the number must then be linked again */
  async close(logout: boolean): Promise<void> {
    this.isClosed = true
    if (this.timer) clearTimeout(this.timer)
    const socket = this.drop()
    if (logout) await socket?.logout().catch(() => {})
    void socket?.end(undefined).catch(() => {})
    await this.keys?.end()
  }

  private publishState(state: Pick<ChatChannelState, 'phase' | 'reason'> & Partial<ChatChannelState>): void {
    this.deps.tools.events.line(this.deps.line.channel, { fatal: false, ...state })
  }

  private drop(): WASocket | null {
    const { socket } = this
    if (this.isUp && performance.now() - this.upSince >= stableLinkMs) this.attempts = 0
    this.ownership?.reject(new Error('the socket is closed'))
    if (this.lease) this.written = this.lease.release()
    this.lease = null
    this.socket = null
    this.isUp = false
    this.missedPings = 0
    return socket
  }

  /** Opens the next socket after the last one finished writing. */
  private async reopen(device: DeviceKeys): Promise<void> {
    await this.written
    if (!this.isClosed) this.open(device)
  }

  private open(device: DeviceKeys): void {
    const { library, settings, handlers } = this.deps
    this.codes = 0
    // The library would treat the error as an undecryptable message. Over an open socket it would report that, and
    // the network would drop the message.
    const unkept = (error: unknown) => {
      if (this.socket === socket)
        this.reconnect(`nothing can be kept now: ${error instanceof Error ? error.message : error}`, false)
      else void socket.end(undefined).catch(() => {})
    }
    const admitted = Promise.withResolvers<void>()
    admitted.promise.catch(() => {})
    this.ownership = admitted
    const lent = device.lease(unkept)
    this.lease = lent
    // Left by an unused pairing code; with it the library would log in instead of pairing.
    if (!device.creds.account) delete device.creds.me
    const nodes = new WeakMap<Uint8Array, BinaryNode>()
    const version = settings.client_version?.split('.').map(Number)
    const take = async (message: Message) => {
      try {
        await admitted.promise
        await retry(() => handlers.handleMessage(message))
      } catch (error) {
        unkept(error)
        throw error
      }
    }
    const socket: WASocket = library.makeWASocket({
      auth: { creds: device.creds, keys: library.makeCacheableSignalKeyStore(lent.keys, silentLogger) },
      logger: silentLogger,
      ...(version ? { version } : {}),
      ...(settings.websocket_url ? { waWebSocketUrl: settings.websocket_url } : {}),
      makeSignalRepository: makeSignalRepository(library, {
        nodeOf: (bytes) => nodes.get(bytes),
        handleMessage: take,
        changed: () => device.markChanged(),
      }),
      // Conversations from before the link are not imported; only identity mappings are read from the history.
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
    socket.ev.on('creds.update', () => device.markChanged())
    socket.ev.on('connection.update', ({ connection, qr, lastDisconnect }) => {
      if (this.socket !== socket) return
      if (qr) void this.pair(socket, qr)
      if (connection === 'open') void this.authenticated(socket)
      if (connection === 'close') {
        const { error } = lastDisconnect ?? {}
        this.closed(error?.output?.statusCode ?? null, error?.message ?? 'the network closed the connection')
      }
    })
    handlers.opened(socket)
  }

  private codes = 0
  private async pair(socket: WASocket, qr: string): Promise<void> {
    const { settings, line } = this.deps
    const until = Date.now() + (this.codes++ === 0 ? firstCodeMs : codeMs)
    if (settings.linking !== 'code') {
      this.publishState({
        phase: 'pairing',
        reason: 'scan the code with the phone of the number: Linked devices',
        qr,
        until,
      })
      return
    }
    // Requested once: the network allows few codes an hour.
    if (this.codes > 1) return
    try {
      const code = await socket.requestPairingCode(line.number.slice(1))
      if (this.socket !== socket) return
      const reason = 'type the code into the phone of the number: Linked devices, Link with phone number'
      this.publishState({ phase: 'pairing', reason, code, until: Date.now() + firstCodeMs + 5 * codeMs })
    } catch (error) {
      if (this.socket === socket) this.reconnect(`no code: ${error instanceof Error ? error.message : error}`, false)
    }
  }

  private async authenticated(socket: WASocket): Promise<void> {
    const { line } = this.deps
    const { user } = socket
    const number = numberOf(user?.id ?? '')
    const isOurs = number !== null && (await isSameNumber(socket, line.number, number))
    if (this.socket !== socket) return
    if (isOurs === null) return this.reconnect('the network does not say whose number was linked', false)
    if (!isOurs) {
      const whose = number ?? 'another number'
      return this.fail(`it was linked with ${whose} instead of ${line.number}`, { logout: true })
    }
    this.ownership?.resolve()
    this.isUp = true
    this.upSince = performance.now()
    this.rounds = 0
    const { platform = '' } = socket.authState.creds
    this.publishState({
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
    if (code === closeCodes.restart && this.codes > 0) {
      // Always happens after pairing.
      this.drop()
      if (this.keys) void this.reopen(this.keys)
      return
    }
    // A network that cannot be reached has the same code.
    const isUnscanned = code === closeCodes.codesOver && this.codes > 0 && /QR refs/.test(reason)
    if (code === closeCodes.loggedOut) this.fail('the phone has unlinked it')
    else if (code === closeCodes.banned) this.fail('the network has banned the number')
    else if (isUnscanned && ++this.rounds >= maxCodeRounds)
      this.fail('the code was not scanned in time', { forget: false })
    else {
      this.drop()
      if (code === closeCodes.replaced) this.attempts = Math.max(this.attempts, replacedAttempts)
      this.scheduleReconnect(reasonTexts.get(code) ?? reason, isUnscanned)
    }
  }

  /** Ends the link for good. @param how whether to delete its credentials, and to log out at the network */
  private fail(reason: string, { forget = true, logout = false } = {}): void {
    const { tools, line } = this.deps
    const over = async () => {
      await this.close(logout)
      if (forget) await tools.credentials.forget(line.channel, [requestedNumberType])
    }
    const publishFailure = () => this.publishState({ phase: 'failed', reason, fatal: true })
    void over().then(publishFailure, publishFailure)
  }

  private reconnect(reason: string, isPairing: boolean): void {
    const socket = this.drop()
    void socket?.end(undefined).catch(() => {})
    this.scheduleReconnect(reason, isPairing)
  }

  private scheduleReconnect(reason: string, isPairing = false): void {
    if (this.isClosed) return
    const wait = Math.min(longest, shortest * 2 ** this.attempts++) * (0.5 + Math.random() / 2)
    if (!isPairing) this.publishState({ phase: 'disconnected', reason })
    this.timer = setTimeout(() => {
      if (this.keys) void this.reopen(this.keys)
      else void this.start()
    }, wait)
  }
}
