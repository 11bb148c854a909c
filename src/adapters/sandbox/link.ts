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

export type Link = {
  request<C extends Operation>(
    call: C,
    given: Operations[C]['give'],
    milliseconds?: number,
  ): Promise<RequestOutcome<Operations[C]['take']>>
  isUp(): boolean
  /** Closes this connection; a new one is opened. */
  reset(reason: string): void
  state(): LinkState
  close(): void
}

type Deps = {
  /** The login succeeded. */
  up(): void
  down(reason: string): void
  /** Resolves once the event is persisted; after a rejection the network repeats it. */
  notified(told: Notification): Promise<void>
}

type Waiter = (heard: RequestOutcome<unknown>) => void

/** First and longest delay between attempts in ms; each is randomised between half and full. */
const [minDelayMs, maxDelayMs] = [250, 10_000]

/** A socket to the network that reconnects, with login, requests and events. */
export const makeLink = ({ host, port, token }: SandboxSettings, { up, down, notified }: Deps): Link => {
  const pending = new Map<number, Waiter>()
  let socket: Socket | null = null
  let isUp = false
  let closed = false
  let timer: NodeJS.Timeout | null = null
  let attempts = 0
  let last = 0
  let submitted = 0
  let state: LinkState['state'] = 'connecting'
  let since = Date.now()
  let lastError: string | null = null

  const setState = (next: LinkState['state'], error: string | null) => {
    if (state !== next) since = Date.now()
    state = next
    lastError = error ?? lastError
  }

  /** Writes of one turn of the event loop share a system call. */
  const write = (message: Parameters<typeof encode>[0], to = socket) => {
    if (!to) return
    if (to.writableCorked === 0) {
      to.cork()
      setImmediate(() => to.uncork())
    }
    to.write(encode(message))
  }

  const send = <C extends Operation>(ask: C, given: Operations[C]['give'], milliseconds: number) =>
    new Promise<RequestOutcome<Operations[C]['take']>>((resolve) => {
      const id = ++last
      const end = (heard: RequestOutcome<unknown>) => {
        clearTimeout(timeout)
        pending.delete(id)
        // The response has the type of its request.
        resolve(heard as RequestOutcome<Operations[C]['take']>)
      }
      const timeout = setTimeout(() => end({ outcome: 'lost', reason: 'the network does not answer' }), milliseconds)
      pending.set(id, end)
      submitted++
      write({ ask, id, with: given })
    })

  const handleMessage = (message: ToPlatform) => {
    if ('tell' in message) {
      const { tell } = message
      const from = socket
      notified(message).then(
        () => write({ kept: tell }, from),
        () => {},
      )
    } else if ('refused' in message) {
      const { refused: reason, code, seconds } = message
      pending.get(message.answer)?.({
        outcome: 'refused',
        code,
        reason,
        ...(seconds === undefined ? {} : { seconds }),
      })
    } else pending.get(message.answer)?.({ outcome: 'done', value: message.value })
  }

  const scheduleReconnect = () => {
    if (closed) return
    const wait = Math.min(maxDelayMs, minDelayMs * 2 ** attempts++)
    timer = setTimeout(open, wait * (0.5 + Math.random() / 2))
  }

  const disconnect = (from: Socket, reason: string) => {
    if (socket !== from) return
    socket = null
    isUp = false
    from.destroy()
    setState('down', reason)
    for (const end of [...pending.values()]) end({ outcome: 'lost', reason })
    down(reason)
    scheduleReconnect()
  }

  const open = () => {
    const opened = connect({ host, port, noDelay: true, keepAlive: true })
    socket = opened
    if (state !== 'down') setState('connecting', null)
    const read = makeDecoder<ToPlatform>()
    let error = 'the network closed the connection'
    opened.on('error', (fault) => {
      error = fault.message
    })
    opened.on('close', () => disconnect(opened, error))
    opened.on('data', (piece: Buffer) => {
      try {
        for (const message of read(piece)) handleMessage(message)
      } catch (fault) {
        disconnect(opened, String(fault))
      }
    })
    opened.on('connect', async () => {
      const heard = await send('login', { token }, 4_000)
      if (socket !== opened) return
      if (heard.outcome !== 'done') {
        disconnect(opened, `the login failed: ${heard.reason}`)
        return
      }
      attempts = 0
      isUp = true
      lastError = null
      setState('up', null)
      up()
    })
  }
  open()

  return {
    request: (call, given, milliseconds = requestTimeoutMs) =>
      isUp
        ? send(call, given, milliseconds)
        : Promise.resolve({ outcome: 'unsent', reason: lastError ?? 'the network is not connected' }),
    isUp: () => isUp,
    reset: (reason) => {
      if (socket) disconnect(socket, reason)
    },
    state: () => ({ state, since, lastError, inFlight: pending.size, submitted }),
    close: () => {
      closed = true
      if (timer) clearTimeout(timer)
      const open = socket
      socket = null
      isUp = false
      setState('closed', null)
      for (const end of [...pending.values()]) end({ outcome: 'lost', reason: 'the connection is closed' })
      open?.destroy()
    },
  }
}
