import type { LookupFunction } from 'node:net'
import type { WebSocket as Socket } from 'ws'
import type { MediaStreamTarget } from '../../../ports/media-stream.ts'
import {
  closeTimeoutMs,
  maxStreamFrameBytes,
  openTimeoutMs,
  receivedBytesPerSecond,
  receivedFrameBytes,
  receivedReserveBytes,
} from '../limits.ts'
import { errorMessage } from '../result.ts'

/**
 * The end of a connection by the server, or by a fault: it closed, the connection broke or could not be opened, or the
 * server broke the protocol of WebSockets, as by a frame that is too long.
 */
export type SocketEnd = {
  readonly how: 'closed' | 'lost' | 'protocol'
  readonly code: number | null
  readonly detail: string
}

export type StreamSocketEvents = {
  opened(): void
  /** A frame: text, or binary. */
  received(frame: Buffer, isBinary: boolean): void
  /** The server has read everything before a ping. @param text that of the ping */
  ponged(text: string): void
  /** Once. */
  ended(end: SocketEnd): void
}

/** A WebSocket to a server of a stream. */
export type StreamSocket = {
  readonly bufferedAmount: number
  send(frame: string | Buffer, sent: () => void): void
  ping(text: string): void
  /** Closes the connection, at the latest after 5 s. No further event follows. */
  close(code: number, reason: string): void
}

/** Answers a look-up with checked addresses, so that the name is not resolved again. */
const lookupOf = (addresses: readonly string[]): LookupFunction => {
  const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  return (_name, options, answer) => {
    const [first] = found
    if (options.all || !first) answer(null, found)
    else answer(null, first.address, first.family)
  }
}

/** Code by which `ws` reports that no close frame came (RFC 6455, 7.4.1). */
const abnormal = 1006

/** Close codes that `ws` sends for faults of the server, by its codes of errors. Others: 1002. */
const closeCodes = new Map([
  ['WS_ERR_INVALID_UTF8', 1007],
  ['WS_ERR_TOO_MANY_BUFFERED_PARTS', 1008],
  ['WS_ERR_UNSUPPORTED_MESSAGE_LENGTH', 1009],
])

/** Loaded with the first stream: most workers have none. */
const loadClient = async () => (await import('ws')).WebSocket

/**
 * Opens a WebSocket at one of the checked addresses, in at most 5 s. Redirects are not followed, proxies of the
 * environment are not used, and nothing is compressed.
 */
export const openStreamSocket = async (
  { isSecure, host, isAddress, path, hostHeader, addresses }: MediaStreamTarget,
  headers: Readonly<Record<string, string>>,
  events: StreamSocketEvents,
): Promise<StreamSocket> => {
  const Client = await loadClient()
  const socket: Socket = new Client(`${isSecure ? 'wss' : 'ws'}://${hostHeader}${path}`, {
    headers: { ...headers, host: hostHeader },
    // Passed on to the connection. Node calls the look-up for names only.
    ...{ lookup: lookupOf(addresses), autoSelectFamily: true, closeTimeout: closeTimeoutMs },
    ...(isSecure && !isAddress ? { servername: host } : {}),
    perMessageDeflate: false,
    followRedirects: false,
    maxPayload: maxStreamFrameBytes,
  })
  let isOpen = false
  let isOver = false
  let fault: string | null = null
  const end = (how: SocketEnd['how'], code: number | null, detail: string) => {
    if (isOver) return
    isOver = true
    events.ended({ how, code, detail })
  }
  const opening = setTimeout(() => {
    fault = `no WebSocket was opened within ${openTimeoutMs / 1_000} s`
    socket.terminate()
  }, openTimeoutMs)

  // Octets that may be read now. Reading them takes time of all calls of the worker.
  let reserve = receivedReserveBytes
  let countedAt = performance.now()
  let resuming: NodeJS.Timeout | null = null
  const count = (bytes: number) => {
    const now = performance.now()
    reserve = Math.min(receivedReserveBytes, reserve + ((now - countedAt) / 1_000) * receivedBytesPerSecond)
    countedAt = now
    reserve -= bytes + receivedFrameBytes
    if (reserve >= 0 || resuming) return
    socket.pause()
    const wait = (-reserve / receivedBytesPerSecond) * 1_000
    resuming = setTimeout(() => {
      resuming = null
      socket.resume()
    }, wait)
  }

  socket.on('open', () => {
    clearTimeout(opening)
    isOpen = true
    if (!isOver) events.opened()
  })
  socket.on('message', (frame: Buffer, isBinary) => {
    if (isOver) return
    count(frame.length)
    events.received(frame, isBinary)
  })
  socket.on('pong', (text) => {
    if (!isOver) events.ponged(text.toString())
  })
  socket.on('error', (error) => {
    const code = 'code' in error ? String(error.code) : ''
    fault ??= errorMessage(error) || code
    if (isOpen && code.startsWith('WS_ERR_')) end('protocol', closeCodes.get(code) ?? 1002, fault)
  })
  socket.on('close', (code, reason) => {
    clearTimeout(opening)
    if (resuming) clearTimeout(resuming)
    if (fault === null && code !== abnormal)
      end('closed', code, `the server closed the stream: ${code} ${reason}`.trim())
    else end('lost', null, fault ?? 'the connection was lost')
  })

  return {
    get bufferedAmount() {
      return socket.bufferedAmount
    },
    send: (frame, sent) => socket.send(frame, sent),
    ping: (text) => socket.ping(text),
    close: (code, reason) => {
      isOver = true
      clearTimeout(opening)
      // A paused connection would not read the close frame of the server.
      socket.resume()
      socket.close(code, reason)
    },
  }
}
