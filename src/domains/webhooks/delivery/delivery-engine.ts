import { setTimeout as pause } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { isUnavailable } from '../../../platform/db/sql.ts'
import { makeConcurrencyLimiter } from '../../../platform/lib/concurrency-limiter.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { type PollResult, startPoller } from '../../../platform/lib/poller.ts'
import { makeSerialQueue } from '../../../platform/lib/serial-queue.ts'
import { signingKeyOf } from '../../../platform/lib/webhook-signature.ts'
import type { Services } from '../../../services.ts'
import { onRecorded, spellingOf } from '../../events/ops.ts'
import { startStatsRecorder } from '../history/stats-recorder.ts'
import {
  deliveryPollMs,
  idleDeliveryPollMs,
  keepIdleWorkerMs,
  leaseBatchSize,
  maxFailingWorkers,
  maxIdleWorkers,
  maxLoadedDeliveries,
  minLoadedPerEndpoint,
  statsFlushMs,
} from '../limits.ts'
import { openHeaders } from '../subscriptions/request-headers.ts'
import { type AttemptResult, attempt, type Delivery, type Endpoint } from './attempt.ts'
import * as store from './endpoint-lease-store.ts'
import { makeEndpointLeases } from './endpoint-leases.ts'
import { EndpointWorker } from './endpoint-worker.ts'
import { startFanOut } from './fan-out.ts'
import { makeResultWriter } from './result-writer.ts'
import type { WorkerContext } from './worker-context.ts'

/** Concurrent calls: per host, to quick receivers, to all others. */
const concurrencyLimits = { perHost: 32, quick: 512, other: 448 }

const noAttempt: AttemptResult = {
  ...{ what: 'failed', status: null, ms: 0, timestamp: null, excerpt: '', headers: null, error: null, wait: 0 },
}

export type DeliveryEngine = {
  /** Calls under way. */
  activeCalls(): number
  /**
   * Starts nothing more and waits for attempts under way. After the deadline (milliseconds) they are aborted, to be
   * repeated later.
   */
  stop(deadline?: number): Promise<void>
}

type Deps = Pick<
  Services,
  | 'db'
  | 'seal'
  | 'clock'
  | 'config'
  | 'outbound'
  | 'sandboxAccounts'
  | 'changes'
  | 'wakeUps'
  | 'log'
  | 'version'
  | 'quotas'
>

const isSameReceiver = (one: Endpoint, other: Endpoint): boolean =>
  one.url === other.url && isDeepStrictEqual(one.sealedHeaders, other.sealedHeaders)

const deliveryOf = ({ event_id, conversation, tries, body }: store.DeliveryRow): Delivery => ({
  event: event_id,
  conversation,
  tries,
  body,
})

/**
 * Delivers events to webhooks until stopped. Any number of processes may share a database. Deliveries of one webhook
 * are made in order, by the process that holds its lease.
 * @param options.timeoutMs limit of one call, from connecting to the end of the response
 * @param options.statsMs between writes of the statistics
 * @param options.leaseSeconds after this time another process may take over the webhooks of one that hangs
 * @param options.idleMs for which the worker of a quick receiver stays idle
 * @param options.maxIdle workers beyond which the longest idle ones are released
 */
export const startDeliveryEngine = (
  { db, seal, clock, config, outbound, sandboxAccounts, changes, wakeUps, log, version, quotas }: Deps,
  {
    timeoutMs = 10_000,
    leaseSeconds = 30,
    statsMs = statsFlushMs,
    idleMs = keepIdleWorkerMs,
    maxIdle = maxIdleWorkers,
  } = {},
): DeliveryEngine => {
  const ownerId = uuid()
  const limiter = makeConcurrencyLimiter(concurrencyLimits)
  const writer = makeResultWriter({ db, changes, log }, ownerId)
  const callerWith = (isSandbox: boolean) => ({
    ...{ outbound: outbound.of(isSandbox), agent: `Trunkline/${version}`, timeoutMs, clock },
  })
  const [caller, sandboxCaller] = [callerWith(false), callerWith(true)]
  const stats = startStatsRecorder({ db, clock, log }, statsMs)
  const workers = new Map<string, EndpointWorker>()
  const leases = makeEndpointLeases({ db, log }, ownerId, workers, leaseSeconds)
  const wantedLeases = new Map<string, store.EndpointKey>()
  /** Webhooks whose leases are being released: they may be claimed again only afterwards. */
  const releasing = new Set<string>()
  const workersToLoad = new Set<EndpointWorker>()
  const workersToProbe = new Set<EndpointWorker>()
  /** Workers that may have deliveries in memory. */
  const workersAtWork = new Set<EndpointWorker>()
  /** Idle workers whose webhooks may have changed: their leases are claimed again before they load. */
  const outdated = new Set<EndpointWorker>()
  let isClosed = false
  let isRunning = false
  let isReleaseDue = false
  /** Changes of webhooks that this process heard of. */
  let changesSeen = 0
  let isDatabaseDown = false

  const logFailure = (error: unknown) => {
    if (!isDatabaseDown || !isUnavailable(error)) log.error({ err: error }, 'webhooks: loading deliveries failed')
    isDatabaseDown = isUnavailable(error)
  }

  const context: WorkerContext<EndpointWorker> = {
    limiter: limiter,
    now: clock.now,
    isLeaseHeld: leases.areHeld,
    attempt: (endpoint, delivery, signal) =>
      attempt(sandboxAccounts.has(endpoint.account) ? sandboxCaller : caller, endpoint, delivery, signal)
        .catch((error: unknown) => {
          log.error({ err: error, webhook: endpoint.id, event: delivery.event }, 'webhooks: attempt failed')
          return { ...noAttempt, error: 'internal error: see the log' }
        })
        .then((result) => {
          stats.count(endpoint, result)
          return result
        }),
    write: writer.write,
    findOldestFailed: async (worker, conversation, before) => {
      const row = await store.findOldestFailed(db, worker.key, conversation, before).catch(() => null)
      return row && deliveryOf(row)
    },
    requestWork: (worker) => {
      // A receiver that is down may have more due at once, or nothing for long: the database decides.
      if (worker.isDown) maintainSoon()
      if (worker.capacity === 0) return
      workersToLoad.add(worker)
      scheduleRound()
    },
  }

  const endpointOf = (row: store.LeasedEndpointRow): Endpoint => ({
    account: row.account_id,
    id: row.webhook_id,
    url: row.hook_url,
    host: URL.canParse(row.hook_url) ? new URL(row.hook_url).host : '',
    ...spellingOf(row.event_name, row.msgapp_name, config.msgappName),
    headers: openHeaders(seal, row.webhook_id, row.sealed_headers),
    sealedHeaders: row.sealed_headers,
    keys: [
      { sealed: row.sealed_secret, until: Number.POSITIVE_INFINITY },
      { sealed: row.sealed_previous_secret, until: row.previous_until?.getTime() ?? 0 },
    ].flatMap(({ sealed, until }) => (sealed ? [{ key: signingKeyOf(seal.open(sealed)), until }] : [])),
  })

  /** Fails the pending deliveries of a webhook that is disabled or deleted. */
  const failPending = async (key: store.EndpointKey) => {
    while ((await store.failPending(db, key)) > 0);
    await store.release(db, ownerId, [key])
  }

  const adoptLease = (row: store.LeasedEndpointRow) => {
    const key = { account: row.account_id, webhook: row.webhook_id }
    const before = workers.get(row.webhook_id)
    const endpoint = endpointOf(row)
    // A new address, or other credentials, is a new receiver: the health of the old one no longer counts.
    const known = row.enabled && before && isSameReceiver(before.endpoint, endpoint) ? before : undefined
    if (before !== known) {
      before?.revoke()
      workers.delete(row.webhook_id)
    }
    if (!row.enabled) return void failPending(key).catch(logFailure)
    if (known) known.endpoint = endpoint
    const { failures, failing_since: since, heads } = row
    const condition = { failures, failingSince: since?.getTime() ?? null, isProven: row.succeeded_at !== null }
    const worker = known ?? new EndpointWorker(endpoint, condition, heads, context)
    workers.set(row.webhook_id, worker)
    if (worker.isDown) workersToProbe.add(worker)
    else workersToLoad.add(worker)
  }

  const isCurrent = ({ key }: EndpointWorker): boolean => !wantedLeases.has(key.webhook)

  const claimable = () => wantedLeases.values().filter(({ webhook }) => !releasing.has(webhook))

  /** Deliveries in memory, counted without a look at idle workers. */
  const countLoaded = (): number => {
    let count = 0
    for (const worker of workersAtWork)
      if (worker.size === 0 || worker.isRevoked) workersAtWork.delete(worker)
      else count += worker.size
    return count
  }

  /** Claims wanted leases, loads due deliveries and enqueues them at the workers. */
  const runRound = async () => {
    for (const worker of [...workersToLoad, ...workersToProbe])
      if (outdated.delete(worker)) wantedLeases.set(worker.key.webhook, worker.key)
    const claims = [...claimable().take(leaseBatchSize)]
    for (const { webhook } of claims) wantedLeases.delete(webhook)
    const began = performance.now()
    const changesBefore = changesSeen
    const claimed = claims.length > 0 ? await store.claim(db, ownerId, claims, leases.seconds) : []
    if (claimed.length > 0) leases.claimed(began)
    for (const row of claimed) adoptLease(row)
    // The claim may have read a webhook before its change.
    if (changesSeen > changesBefore) for (const key of claims) wantedLeases.set(key.webhook, key)

    const eager = [...workersToLoad.values().filter(isCurrent).take(leaseBatchSize)]
    for (const worker of eager) workersToLoad.delete(worker)
    const able = eager.filter((worker) => worker.capacity > 0)
    const left = maxLoadedDeliveries - countLoaded()
    const share = Math.max(minLoadedPerEndpoint, Math.floor(left / able.length))
    const wishes = able.map((worker) => ({
      ...worker.key,
      most: Math.min(worker.capacity, share),
      inHand: worker.loaded,
      epoch: worker.epoch,
    }))
    const rows = wishes.length > 0 ? await store.load(db, wishes) : []
    const found = Map.groupBy(rows, ({ webhook_id }) => webhook_id)
    for (const [i, worker] of able.entries()) {
      const own = found.get(worker.key.webhook) ?? []
      worker.mayHaveMore = own.length >= (wishes[i]?.most ?? 0)
      worker.enqueue(own.map(deliveryOf), wishes[i]?.epoch ?? -1)
      if (own.length > 0) workersAtWork.add(worker)
      if (outdated.delete(worker)) wantedLeases.set(worker.key.webhook, worker.key)
    }

    const down = [
      ...workersToProbe
        .values()
        .filter(isCurrent)
        .take(leaseBatchSize)
        .map((worker) => ({ worker, before: worker.loaded })),
    ]
    for (const { worker } of down) workersToProbe.delete(worker)
    const keys = down.map(({ worker }) => worker.key)
    const probes = new Map(
      keys.length > 0 ? (await store.findProbes(db, keys)).map((row) => [row.webhook_id, row]) : [],
    )
    for (const { worker, before } of down) {
      const row = probes.get(worker.key.webhook)
      if (row && !before.includes(row.event_id)) void worker.probe(deliveryOf(row))
    }
  }

  const scheduleRound = () => {
    if (isRunning || isClosed) return
    if (workersToLoad.size + workersToProbe.size === 0 && claimable().next().done) return
    isRunning = true
    setImmediate(async () => {
      try {
        await runRound()
        isDatabaseDown = false
      } catch (error) {
        logFailure(error)
        // The next maintenance round finds these deliveries again.
        await pause(deliveryPollMs)
      }
      isRunning = false
      // Between two claims: a lease just claimed must not be released.
      if (isReleaseDue) void releaseIdle().catch(logFailure)
      scheduleRound()
    })
  }

  const wantLease = (key: store.EndpointKey) => {
    const worker = workers.get(key.webhook)
    if (!worker) wantedLeases.set(key.webhook, key)
    else worker.notify()
  }

  /** Releases the leases of workers that were idle for long, and of the longest idle ones if there are too many. */
  const releaseIdle = async () => {
    isReleaseDue = false
    const excess = workers.size - maxIdle
    const idle = [...workers.values()]
      .filter((worker) => worker.idleMs > 0 && !workersToLoad.has(worker) && !workersToProbe.has(worker))
      .sort((one, other) => other.idleMs - one.idleMs)
      .filter((worker, i) => i < excess || worker.idleMs > (worker.isQuick ? idleMs : 0))
    if (idle.length === 0) return
    const keys = idle.map(({ key }) => key)
    for (const worker of idle) {
      worker.revoke()
      workers.delete(worker.key.webhook)
      outdated.delete(worker)
      releasing.add(worker.key.webhook)
    }
    await store.release(db, ownerId, keys).finally(() => {
      for (const { webhook } of keys) releasing.delete(webhook)
      scheduleRound()
    })
  }

  const maintainOnce = async (): Promise<PollResult> => {
    if (isClosed) return { isBusy: false }
    if (isRunning) isReleaseDue = true
    else await releaseIdle()
    await leases.extendIfDue()
    const failing = workers.values().filter((worker) => !worker.isQuick)
    let places = maxFailingWorkers - [...failing].length
    const { due, seconds } = await store.findDue(db, ownerId, leaseBatchSize * 4)
    for (const { account_id: account, webhook_id: webhook, failures } of due) {
      const worker = workers.get(webhook)
      if (worker?.isDown) workersToProbe.add(worker)
      else if (worker || failures === 0 || places-- > 0) wantLease({ account, webhook })
    }
    scheduleRound()
    const isBusy = due.length > 0 || isRunning || workers.values().some(({ idleMs }) => idleMs === 0)
    return { isBusy, ...(seconds === null ? {} : { dueInMs: seconds * 1_000 }) }
  }

  /** Rounds run one at a time: one must not release what another is extending. */
  const queue = makeSerialQueue()
  const maintain = () => queue(maintainOnce)

  let isMaintenanceScheduled = false
  const maintainSoon = () => {
    if (isMaintenanceScheduled || isClosed) return
    isMaintenanceScheduled = true
    const go = async () => {
      await queue(() => {})
      isMaintenanceScheduled = false
      maintenance.wake()
    }
    setTimeout(() => void go(), 50).unref()
  }

  const fanOut = startFanOut({ db, log, quotas, wakeUps })
  const maintenance = startPoller({
    fastMs: deliveryPollMs,
    slowMs: idleDeliveryPollMs,
    wakeUps,
    look: maintain,
    onError: logFailure,
  })
  const unsubscribeRemote = wakeUps.on('deliveries', maintenance.wake)
  const unsubscribe = onRecorded((webhooks) => {
    if (webhooks.length > 0) maintenance.hurry()
    for (const { account, webhook } of webhooks)
      if (webhook === null) fanOut.notify(account)
      else wantLease({ account, webhook })
    scheduleRound()
  })
  changes.on('webhooks', () => {
    changesSeen++
    // Most are idle: to claim all again for each change would cost more than their deliveries.
    for (const [id, worker] of workers)
      if (worker.idleMs > 0) outdated.add(worker)
      else wantedLeases.set(id, worker.key)
    scheduleRound()
  })
  // A changed clock makes deliveries due.
  changes.on('clock', maintainSoon)

  return {
    activeCalls: limiter.active,
    stop: async (deadline = 10_000) => {
      isClosed = true
      unsubscribe()
      unsubscribeRemote()
      await Promise.all([maintenance.end(), fanOut.stop()])
      const end = performance.now() + deadline
      for (const worker of workers.values()) worker.close()
      while ((limiter.active() > 0 || writer.depth() > 0) && performance.now() < end) await pause(10)
      for (const worker of workers.values()) worker.revoke()
      // Without a database the leases expire by themselves.
      const keys = [...workers.values()].map(({ key }) => key)
      await store.release(db, ownerId, keys).catch(logFailure)
      await stats.stop()
    },
  }
}
