import type { IncomingHttpHeaders } from 'node:http'
import { mask } from '../../../platform/http/confidential.ts'
import type { Clock } from '../../../platform/lib/clock.ts'
import { print } from '../../../platform/lib/id.ts'
import type { Outbound } from '../../../platform/lib/outbound.ts'
import { OutboundError } from '../../../platform/lib/outbound-exchange.ts'
import { storable } from '../../../platform/lib/storable.ts'
import { signatureHeaders } from '../../../platform/lib/webhook-signature.ts'
import { type EventSpelling, eventBody } from '../../events/ops.ts'
import {
  maxExcerptLength,
  maxFailedExcerptLength,
  maxHeaderLength,
  maxResponseBytes,
  maxStoredHeaders,
} from '../limits.ts'
import { type RequestHeader, secretsOf } from '../subscriptions/request-headers.ts'
import { parseRetryAfter } from './retry-schedule.ts'

/** A webhook with what an attempt needs of it. */
export type Endpoint = EventSpelling & {
  readonly account: string
  readonly id: string
  readonly url: string
  /** Host and port of the URL; concurrency is limited per host. */
  readonly host: string
  /** Headers of its own. */
  readonly headers: readonly RequestHeader[]
  /** The same as stored: other ones are a change. */
  readonly sealedHeaders: Buffer | null
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
  /** Unix seconds of the `webhook-timestamp` header; null if nothing was sent. */
  readonly timestamp: number | null
  readonly excerpt: string
  /** Response headers of a failed attempt. */
  readonly headers: Readonly<Record<string, string>> | null
  readonly error: string | null
  readonly wait: number
}

/** Serialises an attempt for the delivery log. The database adds the time. */
export const formatAttempt = ({ status, ms, timestamp, excerpt, headers, error }: AttemptResult): string =>
  JSON.stringify({
    ...(status === null ? {} : { response_status: status }),
    latency_ms: ms,
    ...(timestamp === null ? {} : { timestamp }),
    ...(excerpt === '' ? {} : { response_excerpt: excerpt }),
    ...(headers === null ? {} : { response_headers: headers }),
    ...(error === null ? {} : { error }),
  })

/** Hides the credentials of an endpoint in what its receiver answers: some receivers repeat the request. */
type Hide = (text: string) => string

const hideOf = ({ headers }: Endpoint): Hide => {
  const secrets = secretsOf(headers)
  return (text) => secrets.reduce((hidden, secret) => hidden.replaceAll(secret, mask), text)
}

/** Returns the first response headers, without cookies. */
const storedHeaders = (headers: IncomingHttpHeaders, hide: Hide): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers)
      .filter(([name]) => name !== 'set-cookie')
      .slice(0, maxStoredHeaders)
      .map(([name, value]) => [
        storable(name, maxHeaderLength),
        storable(hide([value].flat().join(', ')), maxHeaderLength),
      ]),
  )

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
  const hide = hideOf(endpoint)
  const began = performance.now()
  const sentAt = Date.now()
  const timestamp = Math.floor(sentAt / 1000)
  try {
    const { status, headers, retryAfter, excerpt, ms } = await outbound.post({
      url: endpoint.url,
      headers: {
        ...Object.fromEntries(endpoint.headers),
        'content-type': 'application/json',
        'user-agent': agent,
        ...signatureHeaders(keys, id, body, sentAt),
      },
      body,
      timeoutMs,
      maxBytes: maxResponseBytes,
      signal,
    })
    const classified = classifyStatus(status)
    const isDelivered = classified.what === 'delivered'
    return {
      ...classified,
      status,
      ms,
      timestamp,
      excerpt: storable(hide(excerpt), isDelivered ? maxExcerptLength : maxFailedExcerptLength),
      headers: isDelivered ? null : storedHeaders(headers, hide),
      wait: parseRetryAfter(retryAfter, Date.now()),
    }
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    const ms = Math.round(performance.now() - began)
    return {
      what: 'failed',
      status: null,
      ms,
      timestamp,
      excerpt: '',
      headers: null,
      error: storable(`${error.code}: ${error.message}`, maxExcerptLength),
      wait: 0,
    }
  }
}
