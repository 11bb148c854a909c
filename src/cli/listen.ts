import { setTimeout as pause } from 'node:timers/promises'
import { type Known, type Typed, UsageError } from './args.ts'
import { type Access, type Conversation, converse } from './converse.ts'
import { type Event, makeLines } from './lines.ts'
import { CallError } from './send.ts'

/** Tells an account's events to a laptop: the one command that goes on until it is ended. */
export const listen = {
  name: 'listen',
  summary: "Tell this laptop of the account's events as they happen, until Ctrl-C",
  options: [
    ['forward-to', 'URL', 'Where each event is posted, signed as a webhook is; without it events are printed alone'],
    ['events', 'NAME,…', 'Only these events; all unless told'],
    ['print', null, 'Print what is in each event, too'],
  ],
  example: 'listen --forward-to http://localhost:3000/hook --events sms.message.received,msgapp.message.received',
} as const

/** The options, for sorting arguments. */
export const listenKnown: Known = new Map([
  ['forward-to', 'value'],
  ['events', 'value'],
  ['print', 'boolean'],
])

/** What was asked for. */
export type Wish = {
  readonly forwardTo: URL | null
  readonly events: readonly string[]
  readonly isPrinted: boolean
  readonly isJson: boolean
}

/** @throws UsageError */
export const readWish = ({ words, options }: Typed): Wish => {
  if (words.length > 1) throw new UsageError(`"${words[1]}" is one word too many`)
  const text = options.get('forward-to')?.at(-1)
  const forwardTo = text === undefined ? null : URL.canParse(text) ? new URL(text) : null
  if (text !== undefined && !(forwardTo && /^https?:$/.test(forwardTo.protocol)))
    throw new UsageError(`--forward-to wants an address such as http://localhost:3000/hook, not "${text}"`)
  const events = (options.get('events') ?? []).flatMap((list) => list.split(',')).map((name) => name.trim())
  return {
    forwardTo,
    events: events.filter(Boolean),
    isPrinted: options.get('print')?.at(-1) === 'true' || forwardTo === null,
    isJson: options.has('json'),
  }
}

/** What surrounds it. */
export type Listener = {
  readonly write: (text: string) => void
  readonly complain: (text: string) => void
  readonly isColoured: boolean
  /** Ends it. */
  readonly stop: AbortSignal
}

const patience = 10_000

/** Posts an event. A redirect is an answer, as it is to webhooks. */
const post = async (
  to: URL,
  { headers, body }: Event,
  stop: AbortSignal,
): Promise<{ status?: number; error?: string }> => {
  try {
    const signal = AbortSignal.any([stop, AbortSignal.timeout(patience)])
    const answer = await fetch(to, { method: 'POST', headers, body, redirect: 'manual', signal })
    await answer.body?.cancel()
    return { status: answer.status }
  } catch (error) {
    if (!(error instanceof Error)) return { error: String(error) }
    const { cause } = error
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : error.message
    return { error: error.name === 'TimeoutError' ? `no answer within ${patience / 1000} s` : code }
  }
}

/** Ids of events that were told already; a server that one comes back to tells the last ones again. */
const mostRemembered = 5_000

/** Seconds before the next try: 0.5, 1, 2 … 15, of which up to half is chance, so that many do not come at once. */
const delay = (failures: number) => Math.min(15, 0.5 * 2 ** (failures - 1)) * (0.5 + Math.random() / 2)

/** Whether it makes sense to come again: not when the request itself was refused. */
const isFinal = ({ status }: Conversation) => status !== null && status >= 400 && status < 500 && status !== 429

/**
 * Listens until it is stopped. It comes back by itself when the connection breaks, and goes on behind the last event.
 * @throws CallError when the server refuses, or cannot be reached at first
 */
export const listenTo = async (access: Access, wish: Wish, around: Listener): Promise<void> => {
  const { write, complain, stop } = around
  const lines = makeLines(wish, around.isColoured)
  const told = new Set<string>()
  let after: string | null = null
  let failures = 0

  const tell = async (event: Event): Promise<number | null> => {
    after = event.id
    if (told.has(event.id)) return null
    told.add(event.id)
    for (const oldest of told) {
      if (told.size <= mostRemembered) break
      told.delete(oldest)
    }
    const began = performance.now()
    const result = wish.forwardTo ? await post(wish.forwardTo, event, stop) : {}
    if (stop.aborted) return null
    write(lines.event(event, { ...result, ms: Math.round(performance.now() - began) }))
    return result.status ?? null
  }

  while (!stop.aborted) {
    const wasReady = after !== null
    const ended = await converse(access, { events: wish.events, after }, stop, {
      ready: ({ secret, after: start }) => {
        failures = 0
        if (wasReady) complain('connected again\n')
        else (wish.isJson ? complain : write)(lines.ready(access.base, secret))
        after ??= start
      },
      event: tell,
    })
    if (stop.aborted) return
    if (isFinal(ended)) throw new CallError(ended.reason)
    if (after === null) throw new CallError(ended.reason)
    const seconds = delay(++failures)
    complain(`${ended.reason}; again in ${seconds.toFixed(1)} s\n`)
    await pause(seconds * 1000, undefined, { signal: stop }).catch(() => {})
  }
}
