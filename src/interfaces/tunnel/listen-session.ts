import type { WebSocket } from 'ws'
import { redactPayload } from '../../domains/events/contents/ops.ts'
import { type EventSpelling, eventBody } from '../../domains/events/ops.ts'
import type { Contents } from '../../domains/inbox/narrowing/ops.ts'
import { print } from '../../platform/lib/id.ts'
import { signatureHeaders } from '../../platform/lib/webhook-signature.ts'
import { maxUnanswered, type ServerFrame } from './contract.ts'
import type { makeEventReader } from './event-reader.ts'
import { maxBufferedBytes } from './limits.ts'

/** The connection of a listening laptop. */
export type ListenSession = {
  /** Delivers pending events, as far as the laptop keeps up. */
  deliverPending(): void
  /** Pings the laptop; closes the connection if the previous ping was not answered. */
  ping(): void
  /** @param code of the WebSocket protocol (RFC 6455, 7.4.1), or one of 4000 to 4999 */
  close(code: number, reason: string): void
}

export type ListenSessionDeps = {
  readonly socket: WebSocket
  readonly reader: ReturnType<typeof makeEventReader>
  readonly key: Buffer
  readonly secret: string
  readonly after: string
  /** The requested spelling of each event, by its own name; null: all events by their own names. */
  readonly spellings: ReadonlyMap<string, EventSpelling> | null
  /** Contents that the laptop's key may see. Others are masked within the events. */
  readonly contents: Contents
  readonly onError: (error: unknown) => void
}

/** The id of a result frame; null for any other frame. */
const answeredId = (text: string): string | null => {
  try {
    const frame: unknown = JSON.parse(text)
    const isResult = typeof frame === 'object' && frame !== null && 'type' in frame && frame.type === 'result'
    return isResult && 'id' in frame && typeof frame.id === 'string' ? frame.id : null
  } catch {
    return null
  }
}

export const startListenSession = (deps: ListenSessionDeps): ListenSession => {
  const { socket, reader, key, secret, after, spellings, contents, onError } = deps
  const unanswered = new Set<string>()
  let isDelivering = false
  let deliverAgain = false
  let isAlive = true

  const send = (frame: ServerFrame) => socket.send(JSON.stringify(frame))

  const deliverEvents = async () => {
    while (socket.readyState === socket.OPEN) {
      const room = maxUnanswered - unanswered.size
      if (room <= 0 || socket.bufferedAmount > maxBufferedBytes) return
      const events = await reader.next(room)
      for (const { id: bare, name: own, payload } of events) {
        const spelling = spellings?.get(own) ?? { eventName: own, msgappName: null }
        const body = eventBody(redactPayload(own, payload, contents), spelling)
        const name = spelling.eventName.replace(/^msgapp\b/, spelling.msgappName ?? 'msgapp')
        const id = print('EVT', bare)
        unanswered.add(id)
        const headers = { 'content-type': 'application/json', ...signatureHeaders([key], id, body, Date.now()) }
        send({ type: 'event', id, name, headers, body })
      }
      if (events.length < room) return
    }
  }

  const deliver = async () => {
    if (isDelivering) {
      deliverAgain = true
      return
    }
    isDelivering = true
    do {
      deliverAgain = false
      await deliverEvents().catch(onError)
    } while (deliverAgain)
    isDelivering = false
  }

  socket.on('message', (data, isBinary) => {
    const id = isBinary ? null : answeredId(String(data))
    if (id === null) return socket.close(1003, 'expected a result')
    if (unanswered.delete(id)) void deliver()
  })
  socket.on('pong', () => {
    isAlive = true
  })
  // For an invalid or overlong frame, ws closes the connection itself.
  socket.on('error', () => {})
  send({ type: 'ready', secret, after: print('EVT', after) })
  void deliver()

  return {
    deliverPending: () => void deliver(),
    ping: () => {
      if (!isAlive) return socket.terminate()
      isAlive = false
      socket.ping()
    },
    close: (code, reason) => socket.close(code, reason),
  }
}
