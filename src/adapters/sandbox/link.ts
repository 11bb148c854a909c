import { connect, type Socket } from 'node:net'
import type { LinkState } from '../../ports/sms.ts'
import { encode, makeDecoder, type Notification, type Operation, type Operations, type ToPlatform } from './codec.ts'
import { requestTimeoutMs } from './limits.ts'

export type SandboxSettings = { readonly host: string; readonly port: number; readonly token: string }

/** Outcome of a request. `unsent`: the network has not received it; `lost`: it may have. */
export type RequestOutcome<V> =
  | { readonly outcome: 'done'; readonly value: V }
  | { readonly outcome: 'refused'; readonly code: string; readonly reason: string; readonly seconds?: number }
  | { readonly outcome: 'unsent' | 'lost'; readonly reason: string }

type Deps = {
  /** The login succeeded. */
  up(): void
  down(reason: string): void
  /** Resolves once the event is persisted; after a rejection the network repeats it. */
  notified(notification: Notification): Promise<void>
}

type Waiter = (result: RequestOutcome<unknown>) => void

/** First and longest delay between attempts in ms; each is randomised between half and full. */
const [minDelayMs, maxDelayMs] = [250, 10_000]

/** A socket to the network that reconnects, with login, requests and events. */
export class SandboxLink {
  readonly #settings: SandboxSettings
  readonly #deps: Deps
  readonly #pending = new Map<number, Waiter>()
  #socket: Socket | null = null
  #isUp = false
  #isClosed = false
  #timer: NodeJS.Timeout | null = null
  #attempts = 0
  #lastId = 0
  #submitted = 0
  #state: LinkState['state'] = 'connecting'
  #since = Date.now()
  #lastError: string | null = null

  constructor(settings: SandboxSettings, deps: Deps) {
    this.#settings = settings
    this.#deps = deps
    this.#open()
  }

  get isUp(): boolean {
    return this.#isUp
  }

  get state(): LinkState {
    const [state, since, lastError] = [this.#state, this.#since, this.#lastError]
    return { state, since, lastError, inFlight: this.#pending.size, submitted: this.#submitted }
  }

  async request<C extends Operation>(
    call: C,
    input: Operations[C]['give'],
    milliseconds = requestTimeoutMs,
  ): Promise<RequestOutcome<Operations[C]['take']>> {
    if (this.#isUp) return await this.#send(call, input, milliseconds)
    return { outcome: 'unsent', reason: this.#lastError ?? 'the network is not connected' }
  }

  /** Closes this connection; a new one is opened. */
  reset(reason: string): void {
    if (this.#socket) this.#disconnect(this.#socket, reason)
  }

  close(): void {
    this.#isClosed = true
    if (this.#timer) clearTimeout(this.#timer)
    const open = this.#socket
    this.#socket = null
    this.#isUp = false
    this.#setState('closed', null)
    this.#failPending('the connection is closed')
    open?.destroy()
  }

  #open(): void {
    const { host, port } = this.#settings
    const socket = connect({ host, port, noDelay: true, keepAlive: true })
    this.#socket = socket
    if (this.#state !== 'down') this.#setState('connecting', null)
    const read = makeDecoder<ToPlatform>()
    let error = 'the network closed the connection'
    socket.on('error', (fault) => {
      error = fault.message
    })
    socket.on('close', () => this.#disconnect(socket, error))
    socket.on('data', (piece: Buffer) => {
      try {
        for (const message of read(piece)) this.#handleMessage(message)
      } catch (fault) {
        this.#disconnect(socket, String(fault))
      }
    })
    socket.on('connect', () => void this.#login(socket))
  }

  async #login(socket: Socket): Promise<void> {
    const { token } = this.#settings
    const result = await this.#send('login', { token }, 4_000)
    if (this.#socket !== socket) return
    if (result.outcome !== 'done') {
      this.#disconnect(socket, `the login failed: ${result.reason}`)
      return
    }
    this.#attempts = 0
    this.#isUp = true
    this.#lastError = null
    this.#setState('up', null)
    this.#deps.up()
  }

  #disconnect(from: Socket, reason: string): void {
    if (this.#socket !== from) return
    this.#socket = null
    this.#isUp = false
    from.destroy()
    this.#setState('down', reason)
    this.#failPending(reason)
    this.#deps.down(reason)
    this.#scheduleReconnect()
  }

  #scheduleReconnect(): void {
    if (this.#isClosed) return
    const wait = Math.min(maxDelayMs, minDelayMs * 2 ** this.#attempts++)
    this.#timer = setTimeout(() => this.#open(), wait * (0.5 + Math.random() / 2))
  }

  #setState(next: LinkState['state'], error: string | null): void {
    if (this.#state !== next) this.#since = Date.now()
    this.#state = next
    this.#lastError = error ?? this.#lastError
  }

  #failPending(reason: string): void {
    for (const end of [...this.#pending.values()]) end({ outcome: 'lost', reason })
  }

  #send<C extends Operation>(ask: C, input: Operations[C]['give'], milliseconds: number) {
    return new Promise<RequestOutcome<Operations[C]['take']>>((resolve) => {
      const id = ++this.#lastId
      const end = (result: RequestOutcome<unknown>) => {
        clearTimeout(timeout)
        this.#pending.delete(id)
        // The response has the type of its request.
        resolve(result as RequestOutcome<Operations[C]['take']>)
      }
      const timeout = setTimeout(() => end({ outcome: 'lost', reason: 'the network does not answer' }), milliseconds)
      this.#pending.set(id, end)
      this.#submitted++
      this.#write({ ask, id, with: input })
    })
  }

  /** Writes of one turn of the event loop share a system call. */
  #write(message: Parameters<typeof encode>[0], to = this.#socket): void {
    if (!to) return
    if (to.writableCorked === 0) {
      to.cork()
      setImmediate(() => to.uncork())
    }
    to.write(encode(message))
  }

  #handleMessage(message: ToPlatform): void {
    if ('tell' in message) {
      const from = this.#socket
      this.#deps.notified(message).then(
        () => this.#write({ kept: message.tell }, from),
        () => {},
      )
    } else if ('refused' in message) {
      const { refused: reason, code, seconds } = message
      this.#pending.get(message.answer)?.({
        outcome: 'refused',
        code,
        reason,
        ...(seconds === undefined ? {} : { seconds }),
      })
    } else this.#pending.get(message.answer)?.({ outcome: 'done', value: message.value })
  }
}
