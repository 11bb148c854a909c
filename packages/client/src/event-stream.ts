import { ApiError, ConnectionError, TrunklineError } from './errors.ts'
import { pause, retryPauseMs } from './retry.ts'
import type { Transport } from './transport.ts'
import type { EventPayloads } from './types.gen.ts'
import type { WebhookEvent } from './webhooks.ts'

/** An event that was received over the WebSocket. */
export type ListenedEvent = {
  /** `EVT…`. Pass it as `after` to continue after this event. */
  readonly id: string
  readonly name: keyof EventPayloads
  readonly payload: WebhookEvent
}

export type ListenOptions = {
  /** Default: all events. */
  readonly events?: readonly (keyof EventPayloads)[]
  /** Id of the event to continue after. Default: only new events. */
  readonly after?: string
  /** Ends the iteration. */
  readonly signal?: AbortSignal
}

export type EventStream = {
  /**
   * Iterates over the events of the account as they happen. An event is acknowledged when the body of the loop has ended.
   * A broken connection is made again, and continues after the last acknowledged event: each event comes once. Needs a WebSocket that sends
   * headers: Node 22 or newer. Browsers cannot.
   * @throws ApiError if the key may not listen
   */
  listen(options?: ListenOptions): AsyncIterable<ListenedEvent>
}

type Frame =
  | { readonly type: 'ready'; readonly after: string }
  | { readonly type: 'event'; readonly id: string; readonly name: keyof EventPayloads; readonly body: string }

type Socket = {
  send(text: string): void
  close(): void
  addEventListener(name: string, listener: (event: { readonly data?: unknown }) => void): void
}

/** WebSocket of Node: the second argument takes headers, which the standard lacks. */
type SocketClass = new (url: string, options: { headers: Record<string, string> }) => Socket

/** Ids that are remembered. After a break the server repeats events of the last ten seconds, which may include late ones. */
const maxRemembered = 10_000

/** Frames of one connection in order; ends when it closes. */
const framesOf = async function* (socket: Socket, signal: AbortSignal | undefined): AsyncGenerator<Frame> {
  const waiting: Frame[] = []
  let isOpen = true
  let wake = () => {}
  const close = () => {
    isOpen = false
    wake()
  }
  socket.addEventListener('message', ({ data }) => {
    waiting.push(JSON.parse(String(data)))
    wake()
  })
  socket.addEventListener('close', close)
  socket.addEventListener('error', close)
  signal?.addEventListener('abort', close, { once: true })
  try {
    while (isOpen || waiting.length) {
      const frame = waiting.shift()
      if (frame) yield frame
      else
        await new Promise<void>((resolve) => {
          wake = resolve
          if (!isOpen || waiting.length) resolve()
        })
    }
  } finally {
    signal?.removeEventListener('abort', close)
    socket.close()
  }
}

export const makeEventStream = ({ baseUrl, apiKey, send }: Transport): EventStream => {
  /** Distinguishes a refusal from an unreachable server, which a WebSocket does not report. */
  const refusal = async (signal: AbortSignal | undefined): Promise<unknown> => {
    const request = { method: 'GET', path: '/open/info', takesIdempotencyKey: false, isRepeatable: false }
    try {
      await send(request, signal ? { signal } : {})
      return new ConnectionError('The WebSocket for events could not be opened, or broke')
    } catch (error) {
      return error
    }
  }

  const listen = async function* ({ events = [], after, signal }: ListenOptions = {}) {
    const { WebSocket } = globalThis as { WebSocket?: unknown }
    if (typeof WebSocket !== 'function' || 'document' in globalThis)
      throw new TrunklineError('events.listen needs a WebSocket that sends headers: Node 22 or newer.')
    let position = after
    const acknowledged = new Set<string>(after ? [after] : [])
    for (let failures = 0; !signal?.aborted; failures++) {
      const query = new URLSearchParams({
        ...(events.length ? { events: events.join(',') } : {}),
        ...(position ? { after: position } : {}),
      })
      const url = `${baseUrl.replace(/^http/, 'ws')}/open/webhooks/listen?${query}`
      const socket = new (WebSocket as SocketClass)(url, { headers: { 'x-user-api-key': apiKey } })
      for await (const frame of framesOf(socket, signal)) {
        failures = 0
        if (frame.type === 'ready') position ??= frame.after
        if (frame.type !== 'event') continue
        if (!acknowledged.has(frame.id)) yield { id: frame.id, name: frame.name, payload: JSON.parse(frame.body) }
        socket.send(JSON.stringify({ type: 'result', id: frame.id, status: 200 }))
        position = frame.id
        acknowledged.add(frame.id)
        for (const oldest of acknowledged) {
          if (acknowledged.size <= maxRemembered) break
          acknowledged.delete(oldest)
        }
      }
      if (signal?.aborted) return
      const error = await refusal(signal)
      const wait = retryPauseMs(error, failures)
      if (wait === null || (error instanceof ApiError && error.status < 429)) throw error
      await pause(wait, signal).catch(() => {})
    }
  }

  return { listen }
}
