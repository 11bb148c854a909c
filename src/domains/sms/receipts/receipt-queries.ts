import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Db, Tx } from '../../../platform/db/sql.ts'
import type { Schedule } from '../../../platform/jobs/schedule.ts'
import { tick } from '../../../platform/jobs/tick.ts'
import { uuid } from '../../../platform/lib/id.ts'
import type { QueriedPart, QueryResult, SmsCarrier } from '../../../ports/sms.ts'
import {
  maxQueriesPerLook,
  maxQueryRefusals,
  maxQuerySearches,
  maxUnansweredQueries,
  minQueryIntervalMs,
  queryPollMs,
  queryRetrySeconds,
  queryShare,
  receiptGraceSeconds,
} from '../limits.ts'
import type { Router } from '../route/router.ts'
import { forceIndexPlans } from '../state-transition-store.ts'
import type { Carriers } from '../submit/carriers.ts'
import { recordAttempts } from '../submit/parts-store.ts'
import { defaultValidSeconds } from '../submit/submit-handler.ts'
import { applyReceipt, isFinal } from './receipt-processor.ts'
import * as store from './receipt-query-store.ts'

// Receipts get lost: a carrier whose receipts are refused, while PostgreSQL fails over for instance, may not send them
// again. A schedule finds parts without a final receipt. Each process asks the carriers that it is connected to.

/** Finds parts without a final receipt, for which their carrier is asked. */
export const findMissingReceipts = (routing: Pick<Router, 'connections' | 'queryable'>): Schedule => ({
  name: 'find-missing-receipts',
  every: 60,
  run: async (tx) => {
    const connections = routing.connections()
    const ids = await store.askable(tx, [...routing.queryable().keys()])
    await store.planForSearch(tx)
    for (let searches = 0; searches < maxQuerySearches; searches++) if (!(await store.addOverdueParts(tx, ids))) break
    for (const { connection, validSeconds } of connections)
      await store.removeOldParts(tx, connection, (validSeconds ?? defaultValidSeconds) + receiptGraceSeconds)
    await store.removeOtherParts(
      tx,
      connections.map(({ connection }) => connection),
    )
  },
})

type Deps = {
  readonly db: Db
  readonly log: Logger
  readonly carriers: Pick<Carriers, 'states' | 'up'>
  readonly routing: Pick<Router, 'queryable'>
}

const notAsked: QueryResult = { outcome: 'retry' }

/** Refusals of a carrier since its last answer. */
type Refusals = { inARow: number; unanswered: number }

const isRefusingAll = ({ inARow, unanswered }: Refusals): boolean =>
  inARow >= maxQueryRefusals || unanswered >= maxUnansweredQueries

/** Stores the answer of a carrier for a part: it counts as a receipt. A new answer is a fact of the timeline. */
const storeAnswer = async (tx: Tx, row: store.QueryRow, result: QueryResult): Promise<void> => {
  if (result.outcome === 'retry') return
  const answer = result.outcome === 'state' ? result.state : result.reason
  if (result.outcome === 'state') {
    await forceIndexPlans(tx)
    await applyReceipt(tx, row, { state: result.state, error: result.error })
  }
  if (answer !== row.answer) {
    const { account_id: account, message_id: message, part, connection_id: connection } = row
    const attempt = { account, message, id: uuid(), part, connection, outcome: 'queried', reason: answer } as const
    await recordAttempts(tx, [attempt])
    await store.recordAnswer(tx, row, answer)
  }
  if (result.outcome === 'state' && isFinal(result.state)) await store.remove(tx, row)
}

/**
 * Asks carriers for parts without a final receipt until ended: each process the carriers that it is connected to, one
 * part after the other.
 * @param pollMs between looks for parts that are due
 */
export const startReceiptQueries = ({ db, log, carriers, routing }: Deps, pollMs = queryPollMs) => {
  const refusals = new Map<string, Refusals>()
  const stop = new AbortController()
  const onError = (error: unknown) => log.error({ err: error }, 'sms: asking for receipts failed')

  /** Asks a carrier for a part; the end of this process does not wait for the answer. */
  const ask = (query: NonNullable<SmsCarrier['query']>, part: QueriedPart): Promise<QueryResult> =>
    new Promise((resolve) => {
      const giveUp = () => resolve(notAsked)
      stop.signal.addEventListener('abort', giveUp)
      void query(part).then((result) => {
        stop.signal.removeEventListener('abort', giveUp)
        resolve(result)
      })
    })

  /** @returns whether the carrier may be asked for further parts now */
  const askFor = async (
    query: NonNullable<SmsCarrier['query']>,
    name: string,
    row: store.QueryRow,
  ): Promise<boolean> => {
    const { connection_id: connection, carrier_id: carrierId, number: source } = row
    if (carrierId === null) {
      await store.remove(db, row)
      return true
    }
    const result = await ask(query, { carrierId, source })
    if (result.outcome === 'retry') {
      await store.giveBack(db, row, queryRetrySeconds)
      return false
    }
    await db.begin((tx) => storeAnswer(tx, row, result))
    if (result.outcome === 'state') {
      refusals.delete(connection)
      return true
    }
    const before = refusals.get(connection) ?? { inARow: 0, unanswered: 0 }
    const isUnanswered = result.reason === 'unanswered'
    const now = { inARow: before.inARow + 1, unanswered: isUnanswered ? before.unanswered + 1 : 0 }
    refusals.set(connection, now)
    if (!result.isUnsupported && !isRefusingAll(now)) return true
    refusals.delete(connection)
    await store.refuseQueries(db, connection)
    log.warn({ connection: name, reason: result.reason }, 'sms: the carrier refuses to be asked for receipts')
    return false
  }

  const askConnection = async (connection: string, name: string): Promise<void> => {
    const query = carriers.up(connection)?.query
    if (!query) return
    const rows = await db.begin(async (tx) => {
      await forceIndexPlans(tx)
      return await store.claim(tx, connection, maxQueriesPerLook)
    })
    const pace = routing.queryable().get(connection) ?? Number.POSITIVE_INFINITY
    const intervalMs = Math.max(minQueryIntervalMs, 1_000 / (pace * queryShare))
    let goesOn = true
    for (const [i, row] of rows.entries()) {
      goesOn &&= !stop.signal.aborted
      if (goesOn && i > 0) await pause(intervalMs, undefined, { signal: stop.signal }).catch(() => {})
      if (goesOn && !stop.signal.aborted) goesOn = await askFor(query, name, row)
      else await store.giveBack(db, row, queryRetrySeconds)
    }
  }

  const look = async (): Promise<void> => {
    if (stop.signal.aborted) return
    const names = new Map(carriers.states().map(({ id, name }) => [id, name]))
    const own = [...routing.queryable().keys()].filter((id) => names.has(id))
    if (own.length === 0) return
    const due = await store.dueConnections(db, own)
    if (due.length === 0) return
    const asked = await store.askable(db, due)
    await Promise.all(asked.map((id) => askConnection(id, names.get(id) ?? '').catch(onError)))
  }

  const polling = tick(pollMs, look, onError)
  return {
    /** Ends at once: parts whose answer is awaited are asked for again. */
    end: async (): Promise<void> => {
      stop.abort()
      await polling.end()
    },
  }
}
