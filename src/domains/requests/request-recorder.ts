import { type Db, isUnavailable } from '../../platform/db/sql.ts'
import type { Metrics } from '../../platform/http/metrics.ts'
import type { FinishedRequest, RequestLog } from '../../platform/http/request-log.ts'
import { uuid } from '../../platform/lib/id.ts'
import {
  maxAccounts,
  maxWaiting,
  maxWaitingOfAccount,
  refusalBurst,
  refusalsPerSecond,
  sampleBurst,
  samplesPerSecond,
  writeSize,
} from './limits.ts'
import * as store from './store.ts'

/** Share of one account. Times are milliseconds of the monotonic clock. */
type Share = { samples: number; refusals: number; refilledAt: number; waiting: number }

/**
 * Records requests in memory, to be written in batches. A request never waits for it: what finds no room is dropped and
 * counted.
 */
export const makeRequestRecorder = ({
  db,
  metrics,
}: {
  db: Pick<Db, 'run'>
  metrics: Pick<Metrics, 'counter'>
}): RequestLog => {
  const drop = metrics.counter(
    'trunkline_request_log_dropped_total',
    'Requests that the request log did not record. share: refusals beyond the share of their account. full: no memory. database: not written',
    ['reason'],
  )
  let shares = new Map<string, Share>()
  let waiting: store.NewRequest[] = []

  const shareOf = (account: string): Share | null => {
    const now = performance.now()
    const known = shares.get(account)
    if (!known) {
      if (shares.size >= maxAccounts) return null
      const fresh = { samples: sampleBurst, refusals: refusalBurst, refilledAt: now, waiting: 0 }
      shares.set(account, fresh)
      return fresh
    }
    const seconds = (now - known.refilledAt) / 1000
    // Not at every request: the account's next token is seconds away.
    if (seconds >= 1) {
      known.samples = Math.min(sampleBurst, known.samples + seconds * samplesPerSecond)
      known.refusals = Math.min(refusalBurst, known.refusals + seconds * refusalsPerSecond)
      known.refilledAt = now
    }
    return known
  }

  const record = ({ key, requestId, method, route, status, errorCode, elapsed }: FinishedRequest) => {
    const share = shareOf(key.account.id)
    if (!share || waiting.length >= maxWaiting || share.waiting >= maxWaitingOfAccount) return drop({ reason: 'full' })
    if (status >= 400) {
      if (share.refusals < 1) return drop({ reason: 'share' })
      share.refusals--
    }
    share.waiting++
    waiting.push({
      account: key.account.id,
      id: uuid(),
      at: new Date(),
      requestId,
      key: key.id,
      method,
      route,
      status,
      errorCode,
      ms: Math.round(elapsed),
    })
  }

  return {
    isSampled: (account) => {
      const share = shareOf(account)
      if (!share || share.samples < 1) return false
      share.samples--
      return true
    },
    record,
    flush: async () => {
      const all = waiting
      waiting = []
      for (const share of shares.values()) share.waiting = 0
      // An account whose buckets are full again needs none.
      if (shares.size > maxAccounts / 2)
        shares = new Map([...shares].filter(([, { refilledAt }]) => performance.now() - refilledAt < 60_000))
      for (let from = 0; from < all.length; from += writeSize) {
        const rows = all.slice(from, from + writeSize)
        try {
          await store.add(db, rows)
        } catch (error) {
          for (let n = from; n < all.length; n++) drop({ reason: 'database' })
          // The log reports outages elsewhere.
          if (isUnavailable(error)) return
          throw error
        }
      }
    },
  }
}
