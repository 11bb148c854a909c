import { setTimeout as pause } from 'node:timers/promises'
import { type KnownOptions, type ParsedArguments, UsageError } from '../input/parse-arguments.ts'
import { maxRememberedEvents, receiverTimeoutMs } from '../limits.ts'
import { CallError } from '../transfer/send-request.ts'
import type { Access, ConnectionEnd } from './event-connection.ts'
import { type DeliveredEvent, makeEventLines } from './event-lines.ts'

/** Delivers an account's events to this machine: the one command that runs until it is stopped. */
export const listen = {
  name: 'listen',
  summary: 'Deliver the account’s events to this machine as they happen, until Ctrl-C',
  options: [
    [
      'forward-to',
      'URL',
      'Address that each event is posted to, signed like a webhook; without it events are only printed',
    ],
    ['events', 'NAME,…', 'Only these events. Default: all'],
    ['print', null, 'Also print the payload of each event'],
  ],
  example: 'listen --forward-to http://localhost:3000/hook --events sms.message.received,msgapp.message.received',
} as const

/** The options, for parsing arguments. */
export const listenOptions: KnownOptions = new Map([
  ['forward-to', 'value'],
  ['events', 'value'],
  ['print', 'boolean'],
])

/** The parsed options. */
export type ListenOptions = {
  readonly forwardTo: URL | null
  readonly events: readonly string[]
  readonly isPrinted: boolean
  readonly isJson: boolean
}

/** @throws UsageError */
export const readListenOptions = ({ words, options }: ParsedArguments): ListenOptions => {
  if (words.length > 1) throw new UsageError(`"${words[1]}" is an unexpected argument`)
  const text = options.get('forward-to')?.at(-1)
  const forwardTo = text === undefined ? null : URL.canParse(text) ? new URL(text) : null
  if (text !== undefined && !(forwardTo && /^https?:$/.test(forwardTo.protocol)))
    throw new UsageError(`--forward-to must be an address such as http://localhost:3000/hook, not "${text}"`)
  const events = (options.get('events') ?? []).flatMap((list) => list.split(',')).map((name) => name.trim())
  return {
    forwardTo,
    events: events.filter(Boolean),
    isPrinted: options.get('print')?.at(-1) === 'true' || forwardTo === null,
    isJson: options.has('json'),
  }
}

/** The environment of the command. */
export type ListenEnvironment = {
  readonly write: (text: string) => void
  readonly writeError: (text: string) => void
  readonly isColoured: boolean
  /** Stops the command. */
  readonly stop: AbortSignal
}

/** Posts an event. A redirect counts as a response, as for webhooks. */
const post = async (
  to: URL,
  { headers, body }: DeliveredEvent,
  stop: AbortSignal,
): Promise<{ status?: number; error?: string }> => {
  try {
    const signal = AbortSignal.any([stop, AbortSignal.timeout(receiverTimeoutMs)])
    const answer = await fetch(to, { method: 'POST', headers, body, redirect: 'manual', signal })
    await answer.body?.cancel()
    return { status: answer.status }
  } catch (error) {
    if (!(error instanceof Error)) return { error: String(error) }
    const { cause } = error
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : error.message
    return { error: error.name === 'TimeoutError' ? `no answer within ${receiverTimeoutMs / 1000} s` : code }
  }
}

/**
 * Seconds before the next attempt: 0.5, 1, 2 … 15. Up to half is random, so that many clients do not reconnect at once.
 */
const delay = (failures: number) => Math.min(15, 0.5 * 2 ** (failures - 1)) * (0.5 + Math.random() / 2)

/** Returns whether a reconnection is pointless: the request itself was refused. */
const isFinal = ({ status }: ConnectionEnd) => status !== null && status >= 400 && status < 500 && status !== 429

/**
 * Listens until it is stopped. Reconnects by itself after a broken connection, and continues after the last event.
 * @throws CallError when the server refuses, or is unreachable at first
 */
export const listenTo = async (access: Access, options: ListenOptions, context: ListenEnvironment): Promise<void> => {
  const { write, writeError, stop } = context
  const lines = makeEventLines(options, context.isColoured)
  const delivered = new Set<string>()
  let after: string | null = null
  let failures = 0

  const deliver = async (event: DeliveredEvent): Promise<number | null> => {
    after = event.id
    if (delivered.has(event.id)) return null
    delivered.add(event.id)
    for (const oldest of delivered) {
      if (delivered.size <= maxRememberedEvents) break
      delivered.delete(oldest)
    }
    const began = performance.now()
    const result = options.forwardTo ? await post(options.forwardTo, event, stop) : {}
    if (stop.aborted) return null
    write(lines.event(event, { ...result, ms: Math.round(performance.now() - began) }))
    return result.status ?? null
  }

  // The WebSocket library is loaded only for this command.
  const { connectToEvents } = await import('./event-connection.ts')
  while (!stop.aborted) {
    const wasReady = after !== null
    const ended = await connectToEvents(access, { events: options.events, after }, stop, {
      ready: ({ secret, after: start }) => {
        failures = 0
        if (wasReady) writeError('reconnected\n')
        else (options.isJson ? writeError : write)(lines.ready(access.base, secret))
        after ??= start
      },
      event: deliver,
    })
    if (stop.aborted) return
    if (isFinal(ended)) throw new CallError(ended.reason)
    if (after === null) throw new CallError(ended.reason)
    const seconds = delay(++failures)
    writeError(`${ended.reason}; reconnecting in ${seconds.toFixed(1)} s\n`)
    await pause(seconds * 1000, undefined, { signal: stop }).catch(() => {})
  }
}
