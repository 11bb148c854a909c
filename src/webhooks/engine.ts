import { setTimeout as pause } from 'node:timers/promises'
import { isUnavailable } from '../db/sql.ts'
import { onRecorded } from '../events/ops.ts'
import { tick } from '../jobs/tick.ts'
import { uuid } from '../lib/id.ts'
import { keyOf } from '../lib/signature.ts'
import type { Parts } from '../parts.ts'
import { call, type Delivery, type Hook } from './call.ts'
import { startFanOut } from './fan-out.ts'
import { makeGate } from './gate.ts'
import type { Ground } from './ground.ts'
import { Lane } from './lane.ts'
import * as store from './lanes.ts'
import { makeLeases } from './leases.ts'
import { makeWriter } from './writer.ts'

/** Calls at a time: to one host, to receivers that are well, to all others. */
const room = { each: 32, quick: 512, other: 448 }
/** Lanes of receivers that are not well, at a time: the others wait in the database. */
const mostFailing = 600
/** Lanes claimed, or read, by one statement. */
const most = 256
/** Deliveries in memory, in all, and what a webhook may have in any case. */
const mostInHand = 16_384
const leastShare = 4
const lookEvery = 500
/** A lane with nothing to do is kept for so long, because where one event was there come more. */
const keepIdle = 2_000

export type Deliveries = {
  /** Calls under way. */
  underWay(): number
  /** Begins nothing more and waits for what is under way; after the deadline (milliseconds) calls are cut, to be made again. */
  stop(deadline?: number): Promise<void>
}

type Given = Pick<
  Parts,
  'db' | 'seal' | 'clock' | 'outbound' | 'sandboxAccounts' | 'changes' | 'log' | 'version' | 'quotas'
>

const deliveryOf = ({ event_id, conversation, tries, body }: store.DeliveryRow): Delivery => ({
  event: event_id,
  conversation,
  tries,
  body,
})

/**
 * Delivers events to webhooks until it is stopped. Any number of processes may share a database: a webhook's deliveries are
 * made by one of them at a time, the one that has its lane on lease, so that they keep their order.
 * @param options.timeoutMs for a call, from the connection to the end of the answer
 * @param options.leaseSeconds after which another process may deliver for the webhooks of one that hangs
 */
export const startDeliveries = (
  { db, seal, clock, outbound, sandboxAccounts, changes, log, version, quotas }: Given,
  { timeoutMs = 10_000, leaseSeconds = 30 } = {},
): Deliveries => {
  const worker = uuid()
  const gate = makeGate(room)
  const writer = makeWriter({ db, changes, log }, worker)
  const callerWith = (isSandbox: boolean) => ({
    ...{ outbound: outbound.of(isSandbox), agent: `Trunkline/${version}`, timeoutMs, clock },
  })
  const [caller, sandboxCaller] = [callerWith(false), callerWith(true)]
  const lanes = new Map<string, Lane>()
  const leases = makeLeases({ db, log }, worker, lanes, leaseSeconds)
  const wanted = new Map<string, store.LaneKey>()
  /** Webhooks whose lanes are being given back: they are taken again after that, not before. */
  const leaving = new Set<string>()
  const hungry = new Set<Lane>()
  const probing = new Set<Lane>()
  let isClosed = false
  let isLooking = false
  let isAway = false

  const failed = (error: unknown) => {
    if (!isAway || !isUnavailable(error)) log.error({ err: error }, 'webhook deliveries could not be read')
    isAway = isUnavailable(error)
  }

  const ground: Ground = {
    gate,
    now: clock.now,
    isHeld: leases.areHeld,
    call: (hook, delivery, signal) =>
      call(sandboxAccounts.has(hook.account) ? sandboxCaller : caller, hook, delivery, signal).catch(
        (error: unknown) => {
          log.error({ err: error, webhook: hook.id, event: delivery.event }, 'a webhook could not be called')
          return { what: 'failed', status: null, ms: 0, excerpt: '', error: 'a fault of ours: see the log', wait: 0 }
        },
      ),
    write: writer.write,
    elder: async (lane, conversation, before) => {
      const row = await store.elder(db, lane.key, conversation, before).catch(() => null)
      return row && deliveryOf(row)
    },
    hungry: (lane) => {
      // Of a receiver that is down more may be due at once, or not for long: the database says.
      if (lane.isDown) tendSoon()
      if (lane.room === 0) return
      hungry.add(lane)
      look()
    },
  }

  const hookOf = (row: store.LaneRow): Hook => ({
    account: row.account_id,
    id: row.webhook_id,
    url: row.hook_url,
    host: URL.canParse(row.hook_url) ? new URL(row.hook_url).host : '',
    eventName: row.event_name,
    msgappName: row.msgapp_name,
    keys: [
      { sealed: row.sealed_secret, until: Number.POSITIVE_INFINITY },
      { sealed: row.sealed_previous_secret, until: row.previous_until?.getTime() ?? 0 },
    ].flatMap(({ sealed, until }) => (sealed ? [{ key: keyOf(seal.open(sealed)), until }] : [])),
  })

  /** Ends what is pending for a webhook that is disabled or gone. */
  const abandon = async (key: store.LaneKey) => {
    while ((await store.abandon(db, key)) > 0);
    await store.release(db, worker, [key])
  }

  const admit = (row: store.LaneRow) => {
    const key = { account: row.account_id, webhook: row.webhook_id }
    const before = lanes.get(row.webhook_id)
    // Another address is another receiver: nothing that the one before does counts any more.
    const known = row.enabled && before?.hook.url === row.hook_url ? before : undefined
    if (before !== known) {
      before?.lose()
      lanes.delete(row.webhook_id)
    }
    if (!row.enabled) return void abandon(key).catch(failed)
    if (known) known.hook = hookOf(row)
    const { failures, failing_since: since, heads } = row
    const condition = { failures, failingSince: since?.getTime() ?? null, isProven: row.succeeded_at !== null }
    const lane = known ?? new Lane(hookOf(row), condition, heads, ground)
    lanes.set(row.webhook_id, lane)
    if (lane.isDown) probing.add(lane)
    else hungry.add(lane)
  }

  const claimable = () => wanted.values().filter(({ webhook }) => !leaving.has(webhook))

  /** Claims what is wanted, reads what is due, and hands it to the lanes. */
  const round = async () => {
    const claims = [...claimable().take(most)]
    for (const { webhook } of claims) wanted.delete(webhook)
    const claimed = claims.length > 0 ? await store.claim(db, worker, claims, leases.seconds) : []
    for (const row of claimed) admit(row)

    const eager = [...hungry].slice(0, most)
    for (const lane of eager) hungry.delete(lane)
    const able = eager.filter((lane) => lane.room > 0)
    const left = mostInHand - lanes.values().reduce((sum, { size }) => sum + size, 0)
    const share = Math.max(leastShare, Math.floor(left / able.length))
    const wishes = able.map((lane) => ({
      ...lane.key,
      most: Math.min(lane.room, share),
      inHand: lane.inHand,
      epoch: lane.epoch,
    }))
    const rows = wishes.length > 0 ? await store.load(db, wishes) : []
    const found = Map.groupBy(rows, ({ webhook_id }) => webhook_id)
    for (const [i, lane] of able.entries()) {
      const own = found.get(lane.key.webhook) ?? []
      lane.mayHaveMore = own.length >= (wishes[i]?.most ?? 0)
      lane.feed(own.map(deliveryOf), wishes[i]?.epoch ?? -1)
    }

    const down = [...probing].slice(0, most).map((lane) => ({ lane, before: lane.inHand }))
    for (const { lane } of down) probing.delete(lane)
    const keys = down.map(({ lane }) => lane.key)
    const probes = new Map(keys.length > 0 ? (await store.probes(db, keys)).map((row) => [row.webhook_id, row]) : [])
    for (const { lane, before } of down) {
      const row = probes.get(lane.key.webhook)
      if (row && !before.includes(row.event_id)) void lane.probe(deliveryOf(row))
    }
  }

  const look = () => {
    if (isLooking || isClosed) return
    if (hungry.size + probing.size === 0 && claimable().next().done) return
    isLooking = true
    setImmediate(async () => {
      try {
        await round()
        isAway = false
      } catch (error) {
        failed(error)
        // What was asked for is found again by the next tending.
        await pause(lookEvery)
      }
      isLooking = false
      look()
    })
  }

  const want = (key: store.LaneKey) => {
    const lane = lanes.get(key.webhook)
    if (!lane) wanted.set(key.webhook, key)
    else lane.hint()
  }

  /** Gives back the lanes that have nothing to do. */
  const tidy = async () => {
    const idle = [...lanes.values()].filter(
      (lane) => lane.idle > (lane.isQuick ? keepIdle : 0) && !hungry.has(lane) && !probing.has(lane),
    )
    if (idle.length === 0) return
    const keys = idle.map(({ key }) => key)
    for (const lane of idle) {
      lane.lose()
      lanes.delete(lane.key.webhook)
      leaving.add(lane.key.webhook)
    }
    await store.release(db, worker, keys).finally(() => {
      for (const { webhook } of keys) leaving.delete(webhook)
      look()
    })
  }

  const tendOnce = async () => {
    if (isClosed) return
    // Not while lanes are being claimed: what is given back must not be what was just taken.
    if (!isLooking) await tidy()
    await leases.keep()
    const failing = lanes.values().filter((lane) => !lane.isQuick)
    let places = mostFailing - [...failing].length
    for (const { account_id: account, webhook_id: webhook, failures } of await store.due(db, worker, most * 4)) {
      const lane = lanes.get(webhook)
      if (lane?.isDown) probing.add(lane)
      else if (lane || failures === 0 || places-- > 0) want({ account, webhook })
    }
    look()
  }

  /** One after the other: one must not give back what another is prolonging. */
  let tended = Promise.resolve()
  const tend = (): Promise<void> => {
    const next = tended.then(tendOnce)
    tended = next.catch(() => {})
    return next
  }

  let isSoon = false
  const tendSoon = () => {
    if (isSoon || isClosed) return
    isSoon = true
    const go = async () => {
      await tended
      isSoon = false
      await tend().catch(failed)
    }
    setTimeout(() => void go(), 50).unref()
  }

  const fanOut = startFanOut({ db, log, quotas })
  const hush = onRecorded((webhooks) => {
    for (const { account, webhook } of webhooks)
      if (webhook === null) fanOut.hint(account)
      else want({ account, webhook })
    look()
  })
  changes.on('webhooks', () => {
    for (const [id, { key }] of lanes) wanted.set(id, key)
    look()
  })
  // A clock that was moved makes things due.
  changes.on('clock', tendSoon)
  const tending = tick(lookEvery, tend, failed)
  void tend().catch(failed)

  return {
    underWay: gate.used,
    stop: async (deadline = 10_000) => {
      isClosed = true
      hush()
      await Promise.all([tending.end(), fanOut.stop()])
      const end = performance.now() + deadline
      for (const lane of lanes.values()) lane.close()
      while ((gate.used() > 0 || writer.depth() > 0) && performance.now() < end) await pause(10)
      for (const lane of lanes.values()) lane.lose()
      // Where the database is away, the leases end by themselves.
      const keys = [...lanes.values()].map(({ key }) => key)
      await store.release(db, worker, keys).catch(failed)
    },
  }
}
