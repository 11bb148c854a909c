import type { Clock } from '../../../platform/lib/clock.ts'
import { print } from '../../../platform/lib/id.ts'
import type { Outbound } from '../../../platform/lib/outbound.ts'
import { OutboundError } from '../../../platform/lib/outbound-exchange.ts'
import { storable } from '../../../platform/lib/storable.ts'
import { signatureHeaders } from '../../../platform/lib/webhook-signature.ts'
import { type EventSpelling, eventBody } from '../../events/ops.ts'
import { maxExcerptLength, maxResponseBytes } from '../limits.ts'
import { parseRetryAfter } from './retry-schedule.ts'

/** A webhook with what an attempt needs of it. */
export type Endpoint = EventSpelling & {
  readonly account: string
  readonly id: string
  readonly url: string
  /** Host and port of the URL; concurrency is limited per host. */
  readonly host: string
  /** Signing keys, newest first; each signs until `until` (Unix milliseconds, platform clock). */
  readonly keys: readonly { readonly key: Buffer; readonly until: number }[]
}

/** An event on its way to an endpoint. */
export type Delivery = {
  readonly event: string
  readonly conversation: string | null
  /** Failed attempts so far. */
  readonly tries: number
  /** JSON, as the event was recorded. */
  readonly body: string
}

/** Result of one HTTP attempt. `wait`: seconds requested by Retry-After. */
export type AttemptResult = {
  readonly what: 'delivered' | 'failed' | 'gone'
  readonly status: number | null
  readonly ms: number
  readonly excerpt: string
  readonly error: string | null
  readonly wait: number
}

/** Serialises an attempt for the delivery log. The database adds the time. */
export const formatAttempt = ({ status, ms, excerpt, error }: AttemptResult): string =>
  JSON.stringify({
    ...(status === null ? {} : { response_status: status }),
    latency_ms: ms,
    ...(excerpt === '' ? {} : { response_excerpt: excerpt }),
    ...(error === null ? {} : { error }),
  })

const truncate = (text: string): string => storable(text, maxExcerptLength)

const classifyStatus = (status: number): Pick<AttemptResult, 'what' | 'error'> => {
  if (status >= 200 && status < 300) return { what: 'delivered', error: null }
  if (status === 410) return { what: 'gone', error: 'the receiver answered 410 Gone' }
  if (status >= 300 && status < 400) return { what: 'failed', error: 'redirects are not followed' }
  return { what: 'failed', error: `the receiver answered ${status}` }
}

export type AttemptDeps = {
  readonly outbound: Outbound
  /** Value of the User-Agent header. */
  readonly agent: string
  readonly timeoutMs: number
  readonly clock: Clock
}

/** Makes one HTTP attempt. Never throws for a fault of the receiver. */
export const attempt = async (
  { outbound, agent, timeoutMs, clock }: AttemptDeps,
  endpoint: Endpoint,
  delivery: Delivery,
  signal: AbortSignal,
): Promise<AttemptResult> => {
  const now = clock.now()
  const keys = endpoint.keys.filter(({ until }) => now < until).map(({ key }) => key)
  const body = eventBody(delivery.body, endpoint)
  const id = print('EVT', delivery.event)
  const began = performance.now()
  try {
    const { status, retryAfter, excerpt, ms } = await outbound.post({
      url: endpoint.url,
      headers: {
        'content-type': 'application/json',
        'user-agent': agent,
        ...signatureHeaders(keys, id, body, Date.now()),
      },
      body,
      timeoutMs,
      maxBytes: maxResponseBytes,
      signal,
    })
    return {
      ...classifyStatus(status),
      status,
      ms,
      excerpt: truncate(excerpt),
      wait: parseRetryAfter(retryAfter, Date.now()),
    }
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    const ms = Math.round(performance.now() - began)
    return {
      what: 'failed',
      status: null,
      ms,
      excerpt: '',
      error: truncate(`${error.code}: ${error.message}`),
      wait: 0,
    }
  }
}
