import type { IncomingMessage } from 'node:http'
import { WebSocket } from 'ws'
import { makeSerialQueue } from '../../../platform/lib/serial-queue.ts'
import { type LaptopFrame, listenPath, type ServerFrame } from '../../tunnel/contract.ts'
import { maxRefusalBytes, maxSilenceMs } from '../limits.ts'
import type { DeliveredEvent } from './event-lines.ts'

/** The server, and the header with the account's key. */
export type Access = { readonly base: URL; readonly headers: Readonly<Record<string, string>> }

/** The end of a conversation: with a status when the server refused it. */
export type ConnectionEnd = { readonly status: number | null; readonly reason: string }

export type ConnectionHandlers = {
  ready(frame: Extract<ServerFrame, { type: 'ready' }>): void
  /** @returns the status of the local endpoint, or null */
  event(event: DeliveredEvent): Promise<number | null>
}

const addressOf = (base: URL, events: readonly string[], after: string | null): URL => {
  const url = new URL(base.href.replace(/^http/, 'ws').replace(/\/$/, '') + listenPath)
  if (events.length > 0) url.searchParams.set('events', events.join(','))
  if (after !== null) url.searchParams.set('after', after)
  return url
}

/** Returns the server's reason for a refusal. */
const refusalOf = async (answer: IncomingMessage): Promise<string> => {
  let text = ''
  for await (const part of answer.setEncoding('utf8')) {
    text += part
    if (text.length > maxRefusalBytes) break
  }
  try {
    const { error_message, error_code, request_id } = JSON.parse(text)
    return `${error_message} (${[error_code, request_id].filter(Boolean).join(', ')})`
  } catch {
    return `the server answered ${answer.statusCode} without JSON; is it Trunkline?`
  }
}

/** Runs one connection, from its upgrade to its end. Events are handled sequentially. Never rejects. */
export const connectToEvents = (
  { base, headers }: Access,
  { events, after }: { readonly events: readonly string[]; readonly after: string | null },
  stop: AbortSignal,
  handlers: ConnectionHandlers,
): Promise<ConnectionEnd> =>
  new Promise((resolve) => {
    const socket = new WebSocket(addressOf(base, events, after), {
      headers,
      handshakeTimeout: 10_000,
      maxPayload: 4_194_304,
      perMessageDeflate: false,
    })
    const queue = makeSerialQueue()
    let reason = ''

    const silence = setTimeout(() => socket.terminate(), maxSilenceMs)
    const end = (status: number | null, why: string) => {
      clearTimeout(silence)
      stop.removeEventListener('abort', leave)
      // The current event is finished first.
      void queue(() => resolve({ status, reason: why }))
    }
    const leave = () => {
      socket.close(1000)
      setTimeout(() => socket.terminate(), 500).unref()
    }
    stop.addEventListener('abort', leave, { once: true })

    const hear = async (frame: ServerFrame) => {
      if (frame.type === 'ready') return handlers.ready(frame)
      const status = await handlers.event(frame)
      const result: LaptopFrame = { type: 'result', id: frame.id, ...(status === null ? {} : { status }) }
      if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(result))
    }

    socket.on('ping', () => silence.refresh())
    socket.on('message', (data) => {
      silence.refresh()
      const frame: ServerFrame = JSON.parse(String(data)) // A cast: our own server wrote it.
      void queue(() => hear(frame)).catch((error) => {
        reason ||= String(error)
        socket.terminate()
      })
    })
    socket.on('unexpected-response', (request, answer) => {
      void refusalOf(answer)
        .catch(String)
        .then((text) => {
          end(answer.statusCode ?? 0, text)
          request.destroy()
        })
    })
    socket.on('error', (error) => {
      const code = 'code' in error ? String(error.code) : error.message
      reason ||= `${base.origin} cannot be reached (${code}); is the server running? --url or TRUNKLINE_URL names another`
    })
    socket.on('close', (code, why) => {
      end(code === 4401 ? 401 : null, reason || `the connection ended (${String(why) || code})`)
    })
  })
