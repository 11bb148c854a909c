import { connect, type Socket } from 'node:net'
import type { LinkState } from '../port.ts'
import { type Call, type Calls, decoder, encode, type Told, type ToPlatform } from './codec.ts'

export type SandboxSettings = { readonly host: string; readonly port: number; readonly token: string }

/** How a request ended. `unsent`: the network has not seen it; `lost`: it may have. */
export type Heard<V> =
  | { readonly outcome: 'done'; readonly value: V }
  | { readonly outcome: 'refused'; readonly code: string; readonly reason: string; readonly seconds?: number }
  | { readonly outcome: 'unsent' | 'lost'; readonly reason: string }

export type Link = {
  ask<C extends Call>(call: C, given: Calls[C]['give'], milliseconds?: number): Promise<Heard<Calls[C]['take']>>
  isUp(): boolean
  /** Ends this connection; another one is made. */
  reset(reason: string): void
  state(): LinkState
  close(): void
}

type Tools = {
  /** The login was taken. */
  up(): void
  down(reason: string): void
  /** Resolves once it is kept; a rejection leaves it with the network. */
  told(told: Told): Promise<void>
}

type Waiter = (heard: Heard<unknown>) => void

const answerMs = 10_000
/** The first wait before another attempt, and the longest, milliseconds; each is taken half to whole, by chance. */
const [shortest, longest] = [250, 10_000]

/** One socket to the network, kept up: with its login, its requests, and what is told over it. */
export const makeLink = ({ host, port, token }: SandboxSettings, { up, down, told }: Tools): Link => {
  const waiting = new Map<number, Waiter>()
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

  const become = (next: LinkState['state'], error: string | null) => {
    if (state !== next) since = Date.now()
    state = next
    lastError = error ?? lastError
  }

  const write = (message: Parameters<typeof encode>[0]) => socket?.write(encode(message))

  const send = <C extends Call>(ask: C, given: Calls[C]['give'], milliseconds: number) =>
    new Promise<Heard<Calls[C]['take']>>((resolve) => {
      const id = ++last
      const end = (heard: Heard<unknown>) => {
        clearTimeout(timeout)
        waiting.delete(id)
        // The network answers in the shape of what it was asked.
        resolve(heard as Heard<Calls[C]['take']>)
      }
      const timeout = setTimeout(() => end({ outcome: 'lost', reason: 'the network does not answer' }), milliseconds)
      waiting.set(id, end)
      submitted++
      write({ ask, id, with: given })
    })

  const hear = (message: ToPlatform) => {
    if ('tell' in message) {
      const { tell } = message
      const from = socket
      told(message).then(
        () => from?.write(encode({ kept: tell })),
        () => {},
      )
    } else if ('refused' in message) {
      const { refused: reason, code, seconds } = message
      waiting.get(message.answer)?.({
        outcome: 'refused',
        code,
        reason,
        ...(seconds === undefined ? {} : { seconds }),
      })
    } else waiting.get(message.answer)?.({ outcome: 'done', value: message.value })
  }

  const again = () => {
    if (closed) return
    const wait = Math.min(longest, shortest * 2 ** attempts++)
    timer = setTimeout(open, wait * (0.5 + Math.random() / 2))
  }

  const lost = (from: Socket, reason: string) => {
    if (socket !== from) return
    socket = null
    isUp = false
    from.destroy()
    become('down', reason)
    for (const end of [...waiting.values()]) end({ outcome: 'lost', reason })
    down(reason)
    again()
  }

  const open = () => {
    const opened = connect({ host, port, noDelay: true, keepAlive: true })
    socket = opened
    if (state !== 'down') become('connecting', null)
    const read = decoder<ToPlatform>()
    let error = 'the network closed the connection'
    opened.on('error', (fault) => {
      error = fault.message
    })
    opened.on('close', () => lost(opened, error))
    opened.on('data', (piece: Buffer) => {
      try {
        for (const message of read(piece)) hear(message)
      } catch (fault) {
        lost(opened, String(fault))
      }
    })
    opened.on('connect', async () => {
      const heard = await send('login', { token }, 4_000)
      if (socket !== opened) return
      if (heard.outcome !== 'done') {
        lost(opened, `the login failed: ${heard.reason}`)
        return
      }
      attempts = 0
      isUp = true
      lastError = null
      become('up', null)
      up()
    })
  }
  open()

  return {
    ask: (call, given, milliseconds = answerMs) =>
      isUp
        ? send(call, given, milliseconds)
        : Promise.resolve({ outcome: 'unsent', reason: lastError ?? 'the network is not connected' }),
    isUp: () => isUp,
    reset: (reason) => {
      if (socket) lost(socket, reason)
    },
    state: () => ({ state, since, lastError, inFlight: waiting.size, submitted }),
    close: () => {
      closed = true
      if (timer) clearTimeout(timer)
      const open = socket
      socket = null
      isUp = false
      become('closed', null)
      for (const end of [...waiting.values()]) end({ outcome: 'lost', reason: 'the connection is closed' })
      open?.destroy()
    },
  }
}
