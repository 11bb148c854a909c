import { type Spelling, told } from '../events/ops.ts'
import type { Clock } from '../lib/clock.ts'
import { print } from '../lib/id.ts'
import type { Outbound } from '../lib/outbound.ts'
import { OutboundError } from '../lib/outbound-exchange.ts'
import { signed } from '../lib/signature.ts'
import { secondsOf } from './schedule.ts'

/** A webhook as its deliveries need it. */
export type Hook = Spelling & {
  readonly account: string
  readonly id: string
  readonly url: string
  /** Host and port of the address: calls are counted by it. */
  readonly host: string
  /** Signing keys, the newest first, and until when each signs: Unix milliseconds of the platform. */
  readonly keys: readonly { readonly key: Buffer; readonly until: number }[]
}

/** An event on its way to a webhook. */
export type Delivery = {
  readonly event: string
  readonly conversation: string | null
  /** That failed before. */
  readonly tries: number
  /** JSON, as the event was recorded. */
  readonly body: string
}

/** How a call went. `wait`: seconds that the receiver asked for. */
export type Outcome = {
  readonly what: 'delivered' | 'failed' | 'gone'
  readonly status: number | null
  readonly ms: number
  readonly excerpt: string
  readonly error: string | null
  readonly wait: number
}

/** A call as it is written down, JSON: but for its time, which the database knows best. */
export const attemptOf = ({ status, ms, excerpt, error }: Outcome): string =>
  JSON.stringify({
    ...(status === null ? {} : { response_status: status }),
    latency_ms: ms,
    ...(excerpt === '' ? {} : { response_excerpt: excerpt }),
    ...(error === null ? {} : { error }),
  })

/** Of an answer; what is kept of it is the beginning. */
const mostBytes = 65_536
const mostKept = 1_000

/** In front of a surrogate pair, never in it: a database refuses half of one. */
const kept = (text: string): string => text.slice(0, mostKept).toWellFormed()

const answered = (status: number): Pick<Outcome, 'what' | 'error'> => {
  if (status >= 200 && status < 300) return { what: 'delivered', error: null }
  if (status === 410) return { what: 'gone', error: 'the receiver answered 410 Gone' }
  if (status >= 300 && status < 400) return { what: 'failed', error: 'redirects are not followed' }
  return { what: 'failed', error: `the receiver answered ${status}` }
}

/** What each call is made with. */
export type Caller = {
  readonly outbound: Outbound
  /** Its name, for the header User-Agent. */
  readonly agent: string
  readonly timeoutMs: number
  readonly clock: Clock
}

/** Calls a webhook with an event. Never throws for what the receiver does. */
export const call = async (
  { outbound, agent, timeoutMs, clock }: Caller,
  hook: Hook,
  delivery: Delivery,
  signal: AbortSignal,
): Promise<Outcome> => {
  const now = clock.now()
  const keys = hook.keys.filter(({ until }) => now < until).map(({ key }) => key)
  const body = told(delivery.body, hook)
  const id = print('EVT', delivery.event)
  const began = performance.now()
  try {
    const { status, retryAfter, excerpt, ms } = await outbound.post({
      url: hook.url,
      headers: {
        'content-type': 'application/json',
        'user-agent': agent,
        ...signed(keys, id, body, Date.now()),
      },
      body,
      timeoutMs,
      maxBytes: mostBytes,
      signal,
    })
    return { ...answered(status), status, ms, excerpt: kept(excerpt), wait: secondsOf(retryAfter, Date.now()) }
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    const ms = Math.round(performance.now() - began)
    return { what: 'failed', status: null, ms, excerpt: '', error: kept(`${error.code}: ${error.message}`), wait: 0 }
  }
}
