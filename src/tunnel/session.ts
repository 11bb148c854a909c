import type { WebSocket } from 'ws'
import { type Spelling, told } from '../events/ops.ts'
import { print } from '../lib/id.ts'
import { signed } from '../lib/signature.ts'
import { type ServerFrame, unansweredMost } from './contract.ts'
import type { makeReader } from './reader.ts'

/** A laptop that listens. */
export type Session = {
  /** Tells what has happened, as far as the laptop keeps up. */
  look(): void
  /** Asks whether it is still there; one that did not answer the last time is given up. */
  beat(): void
  /** @param code of the WebSocket protocol (RFC 6455, 7.4.1), or one of 4000 to 4999 */
  close(code: number, reason: string): void
}

export type SessionParts = {
  readonly socket: WebSocket
  readonly reader: ReturnType<typeof makeReader>
  readonly key: Buffer
  readonly secret: string
  readonly after: string
  /** How events were asked for, by their own names; null for all, by these names. */
  readonly spellings: ReadonlyMap<string, Spelling> | null
  readonly onError: (error: unknown) => void
}

/** Bytes that may wait for a slow line. */
const mostBuffered = 1_048_576

/** The id in a frame of the laptop: null for a frame that says something else, or is none. */
const answeredId = (text: string): string | null => {
  try {
    const frame: unknown = JSON.parse(text)
    const isResult = typeof frame === 'object' && frame !== null && 'type' in frame && frame.type === 'result'
    return isResult && 'id' in frame && typeof frame.id === 'string' ? frame.id : null
  } catch {
    return null
  }
}

export const startSession = (parts: SessionParts): Session => {
  const { socket, reader, key, secret, after, spellings, onError } = parts
  const unanswered = new Set<string>()
  let isLooking = false
  let lookAgain = false
  let isAlive = true

  const say = (frame: ServerFrame) => socket.send(JSON.stringify(frame))

  const tell = async () => {
    while (socket.readyState === socket.OPEN) {
      const room = unansweredMost - unanswered.size
      if (room <= 0 || socket.bufferedAmount > mostBuffered) return
      const events = await reader.next(room)
      for (const { id: bare, name: own, payload } of events) {
        const spelling = spellings?.get(own) ?? { eventName: own, msgappName: null }
        const body = told(payload, spelling)
        const name = spelling.msgappName ? own.replace(/^msgapp\b/, spelling.msgappName) : spelling.eventName
        const id = print('EVT', bare)
        unanswered.add(id)
        const headers = { 'content-type': 'application/json', ...signed([key], id, body, Date.now()) }
        say({ type: 'event', id, name, headers, body })
      }
      if (events.length < room) return
    }
  }

  const look = async () => {
    if (isLooking) {
      lookAgain = true
      return
    }
    isLooking = true
    do {
      lookAgain = false
      await tell().catch(onError)
    } while (lookAgain)
    isLooking = false
  }

  socket.on('message', (data, isBinary) => {
    const id = isBinary ? null : answeredId(String(data))
    if (id === null) return socket.close(1003, 'expected a result')
    if (unanswered.delete(id)) void look()
  })
  socket.on('pong', () => {
    isAlive = true
  })
  // A frame that is too long, or no frame: ws closes the connection by itself.
  socket.on('error', () => {})
  say({ type: 'ready', secret, after: print('EVT', after) })
  void look()

  return {
    look: () => void look(),
    beat: () => {
      if (!isAlive) return socket.terminate()
      isAlive = false
      socket.ping()
    },
    close: (code, reason) => socket.close(code, reason),
  }
}
