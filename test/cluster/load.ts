import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { receiptGraceSeconds } from '../../src/domains/sms/limits.ts'
import { defaultValidSeconds } from '../../src/domains/sms/submit/submit-handler.ts'
import type { Db } from '../../src/platform/db/sql.ts'
import { until } from '../platform.ts'
import { type Installation, moveClock, ownNumber, price } from './installation.ts'

// Messages at a steady rate through HAProxy, and the proof that each one that was answered 202 arrived, cost its price
// once, and caused its webhooks.

/** Messages a second. */
const rate = 40

/** Clients, each with one request at a time. */
const clients = 10

const handsets = Array.from({ length: 20 }, (_, i) => `+4477009012${String(i + 10)}`)

/** Milliseconds before a client repeats a request that was not accepted. */
const retryMs = 100

/** Seconds for receipts: the carrier repeats one that was refused after 30 s at the latest. */
const settleSeconds = 60

/** Messages answered 202 since the start of an installation, by their texts. */
export type AcceptedMessages = Map<string, { readonly to: string; readonly at: number }>

type Figures = {
  accepted: number
  /** The longest time without a 202, in seconds. */
  gap: number
  /** Answers by status; 0: no answer. */
  codes: Record<string, number>
}

export type Load = {
  /** Times of the answers 202, by performance.now(). */
  readonly times: readonly number[]
  /** Answers that were no 202. */
  refused(): number
  /** Waits until a number of further messages was accepted. */
  accepts(further: number): Promise<void>
  /** Ends the load: each client first repeats its last request until it is accepted. */
  stop(): Promise<Figures>
}

const longestGap = (times: readonly number[]): number =>
  times.reduce((longest, at, i) => Math.max(longest, at - (times[i - 1] ?? at)), 0)

let count = 0

/**
 * Sends messages until it is stopped.
 * @param retries whether a client repeats what was not accepted, with its idempotency key
 */
export const startLoad = ({ request }: Installation, accepted: AcceptedMessages, retries = true): Load => {
  const times: number[] = []
  const codes: Record<string, number> = {}
  let stopped = false
  let refused = 0

  const send = async (text: string, to: string): Promise<boolean> => {
    const body = { from_number: ownNumber, to_number: to, text }
    const { status, text: answer } = await request('POST', '/open/sms/send', body, { 'idempotency-key': text })
    codes[status] = (codes[status] ?? 0) + 1
    if (status !== 202) {
      refused++
      assert.ok(status === 0 || status === 429 || status >= 500, `${status} ${answer}`)
      return false
    }
    const at = performance.now()
    times.push(at)
    accepted.set(text, { to, at })
    return true
  }

  const runClient = async (client: number): Promise<void> => {
    const everyMs = (1_000 * clients) / rate
    for (let next = performance.now() + (everyMs * client) / clients; !stopped; next += everyMs) {
      await pause(Math.max(0, next - performance.now()))
      // A client that was held up does not catch up: a carrier's window would fill.
      next = Math.max(next, performance.now() - everyMs)
      const text = `message ${++count}`
      const to = handsets[count % handsets.length] ?? ''
      while (!(await send(text, to)) && retries) await pause(retryMs)
    }
  }

  const running = Promise.all(Array.from({ length: clients }, (_, client) => runClient(client)))
  // A failure is reported by `stop`.
  running.catch(() => {})
  return {
    times,
    refused: () => refused,
    accepts: async (further) => {
      const enough = times.length + further
      await Promise.race([until(async () => times.length >= enough, 240), running])
    },
    stop: async () => {
      stopped = true
      await running
      return { accepted: times.length, gap: longestGap(times) / 1_000, codes }
    },
  }
}

/** The texts that the handsets received. */
const arrivedTexts = async ({ carrier }: Installation): Promise<string[]> => {
  const seen: string[] = []
  for (const handset of handsets) {
    const { sms } = (await carrier.call('GET', `/handsets/${handset}`)) as { sms: { text: string }[] } // the simulator's answer
    seen.push(...sms.map(({ text }) => text))
  }
  return seen
}

/** Messages that the account sent, by status. */
const countByStatus = async (db: Db): Promise<Partial<Record<string, number>>> => {
  const rows = await db.many<{ status: string; messages: number }>`
    select status, count(*) as messages from sms_messages where direction = 'outbound' group by status`
  return Object.fromEntries(rows.map(({ status, messages }) => [status, messages]))
}

/** Seconds by which the clock moves, so that the carrier is asked: the first question is due after 15 minutes. */
export const queryAheadSeconds = 3_600

/**
 * Proves that every message whose receipt was lost gets its state from the carrier, which answers query_sm. A question may
 * be lost as well, so the clock moves up to three times.
 * @returns how many messages were at `sent` before the first
 */
export const assertReceiptsRecovered = async ({ db }: Installation): Promise<number> => {
  const isSent = async () =>
    Object.keys(await countByStatus(db)).every((status) => status === 'sent' || status === 'delivered')
  await until(isSent, settleSeconds, 500)
  const left = async () => (await countByStatus(db)).sent ?? 0
  const hasNone = async () => (await left()) === 0
  // Receipts that are under way.
  await until(hasNone, 10, 500).catch(() => {})
  const lost = await left()
  for (let moves = 0; moves < 3 && !(await hasNone()); moves++) {
    await moveClock(db, queryAheadSeconds)
    await until(hasNone, settleSeconds, 500).catch(() => {})
  }
  assert.equal(await left(), 0, 'messages left at `sent` by a carrier that answers query_sm')
  return lost
}

/** A handset that receives messages and never has a final state. */
const silentHandset = '+447700901299'

/** Seconds of the validity of a message, and of the wait for late receipts, and a minute. */
const untilOverSeconds = defaultValidSeconds + receiptGraceSeconds + 60

/** Proves that a message without a final state gets `no_receipt` once its validity is over by an hour. */
export const assertEndsWithoutReceipt = async ({ carrier, db, request }: Installation): Promise<void> => {
  await carrier.call('PUT', `/handsets/${silentHandset}`, { sms: 'silent' })
  for (const text of ['silent 1', 'silent 2', 'silent 3']) {
    const body = { from_number: ownNumber, to_number: silentHandset, text }
    assert.equal((await request('POST', '/open/sms/send', body)).status, 202)
  }
  const without = async (state: string | null) =>
    (
      await db.one<{ messages: number }>`
        select count(*) as messages from sms_messages
        where direction = 'outbound' and status = 'sent' and sub_status is not distinct from ${state}`
    ).messages
  await until(async () => (await without(null)) === 3, settleSeconds, 500)
  await moveClock(db, queryAheadSeconds)
  await until(async () => (await without('accepted')) === 3, settleSeconds, 500)
  await moveClock(db, untilOverSeconds)
  await until(async () => (await without('no_receipt')) === 3, settleSeconds, 500)
  assert.equal((await countByStatus(db)).sent, 3, 'no other message is left at `sent`')
}

type Outcome = {
  /** Messages that reached a handset more than once. */
  arrivedTwice: number
  /** Webhooks that were called more than once. */
  calledTwice: number
  /** Messages whose receipt was lost: they have the status `sent`. */
  leftAtSent: number
}

/**
 * Proves that no accepted message, no money and no webhook was lost or counted twice.
 * @param accepted every message that the account sent
 */
export const assertNothingLost = async (installation: Installation, accepted: AcceptedMessages): Promise<Outcome> => {
  const { db, receiver } = installation
  const missing = async () => {
    const arrived = new Set(await arrivedTexts(installation))
    return [...accepted.keys()].filter((text) => !arrived.has(text))
  }
  await until(async () => (await missing()).length === 0, 120, 500).catch(() => {})
  assert.deepEqual((await missing()).slice(0, 5), [], 'messages that did not reach their handset')

  // A submit without an answer, or a receipt that was refused, is repeated by our side or by the carrier.
  const statuses = () => countByStatus(db)
  const isSettled = async () => Object.keys(await statuses()).every((status) => status === 'delivered')
  await until(isSettled, settleSeconds, 500).catch(() => {})

  // The first message of the installation is not one of the load.
  const stored = accepted.size + 1
  const money = await db.one`
    select (select count(*) from sms_messages where direction = 'outbound') as messages,
      (select sum(price) from sms_messages where direction = 'outbound')::float as prices,
      (select sum(amount) from transfers where kind = 'sms' and debit = 'balance')::float as charged,
      (select count(*) from transfers where kind = 'sms' and credit = 'balance') as refunds`
  const due = Number((stored * price).toFixed(2))
  assert.deepEqual(money, { messages: stored, prices: due, charged: due, refunds: 0 })
  const unbalanced = await db.many`
    select b.account_id from balances b left join transfers t on t.account_id = b.account_id and 'balance' in (t.debit, t.credit)
    group by b.account_id, b.balance
    having b.balance <> coalesce(sum(case when t.credit = 'balance' then t.amount else -t.amount end), 0)`
  assert.deepEqual(unbalanced, [])

  const events = await db.many<{ id: string; name: string }>`
    select id, name from events where name like 'sms.message.%'`
  const calls = () => receiver.of('/cluster').map(({ id }) => id.slice(3))
  const uncalled = () => {
    const called = new Set(calls())
    return events.filter(({ id }) => !called.has(id))
  }
  await until(async () => uncalled().length === 0, settleSeconds, 500).catch(() => {})
  assert.deepEqual(uncalled(), [], 'events without a webhook')
  const eventsOf = (name: string) => events.filter((event) => event.name === name).length
  const { delivered = 0, sent = 0, ...others } = await statuses()
  assert.deepEqual([others, delivered + sent], [{}, stored])
  assert.deepEqual(
    {
      sent: eventsOf('sms.message.sent'),
      delivered: eventsOf('sms.message.delivered'),
      failed: eventsOf('sms.message.failed'),
    },
    { sent: stored, delivered, failed: 0 },
  )
  const arrived = (await arrivedTexts(installation)).filter((text) => accepted.has(text))
  return {
    arrivedTwice: arrived.length - accepted.size,
    calledTwice: calls().length - new Set(calls()).size,
    leftAtSent: sent,
  }
}
