import type { ChatChecked } from '../../connectors/chat-port.ts'
import { foundOnMsgapp } from '../../contacts/ops.ts'
import type { Tx } from '../../db/sql.ts'
import { record } from '../../events/ops.ts'
import { iso } from '../../lib/clock.ts'
import { print } from '../../lib/id.ts'
import type { Act } from '../acts.ts'
import { ask } from '../asking.ts'
import * as budget from './budget.ts'
import { known, shownCheck } from './shown.ts'
import * as store from './store.ts'

export const batchAct = 'check-batch'

/** A channel's share of a batch that is still to be checked; `limit` is how many a minute the network bears. */
export type Share = {
  readonly batch: string
  readonly connection: string
  readonly numbers: readonly string[]
  readonly extra: boolean
  readonly full: boolean
  readonly limit: number
}

/** Numbers of one request to the network. Few, so that a single check does not wait long behind a batch. */
const atATime = 5

export const shownBatch = (row: store.BatchRow) => ({
  uuid: print('CHK', row.id),
  state: row.state,
  total: row.numbers.length,
  checked: Object.keys(row.results).length,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})

/** What was found of a number as it was given. */
export const resultOf = (given: string, found: ChatChecked | null, full: boolean) => {
  const target = known(given)
  return target ? shownCheck(target, found, full) : { is_valid: false }
}

/** Adds results to a batch, and tells of its end with the last of them. */
export const report = async (tx: Tx, account: string, batch: string, results: Readonly<Record<string, unknown>>) => {
  const row = await store.addResults(tx, account, batch, results)
  if (row?.state !== 'completed') return
  const payload = { ...shownBatch(row), results: row.results }
  await record(tx, [{ account, name: 'msgapp.check.completed', channel: null, conversation: null, payload }])
}

/** Asks for the next few of a channel's share, at the time that the network bears. */
export const next = async (tx: Tx, account: string, channel: string, share: Share): Promise<void> => {
  const at = await budget.turns(tx, channel, share.limit, Math.min(atATime, share.numbers.length))
  const { connection } = share
  await ask(tx, { account, connection, channel, act: batchAct, payload: { ...share }, runAt: at })
}

/** The next few of a share, and the numbers that they are: one number may be written in several ways. */
const some = ({ numbers }: Share) => {
  const given = numbers.slice(0, atATime)
  const e164 = new Map(given.map((one) => [one, known(one)?.e164 ?? one]))
  return { given, e164, distinct: [...new Set(e164.values())] }
}

/** Checks the next few numbers of a batch. */
export const makeBatchAct = (): Act<Share, readonly ChatChecked[]> => ({
  run: async (network, { payload }) =>
    (await network.check?.(payload.channel, some(payload).distinct, payload.extra)) ?? [],
  settle: async (tx, done) => {
    for (const { job, result } of done) {
      const { account, payload } = job
      if (account === null) continue
      const { given, e164 } = some(payload)
      await store.keepFound(tx, { account, ...payload }, result)
      const there = result.filter((one) => one.there === 'yes').map(({ number }) => number)
      if (there.length > 0) await foundOnMsgapp(tx, account, there)
      const found = new Map(result.map((one) => [one.number, one]))
      const results = given.map((one) => [one, resultOf(one, found.get(e164.get(one) ?? '') ?? null, payload.full)])
      await report(tx, account, payload.batch, Object.fromEntries(results))
      const rest = payload.numbers.slice(given.length)
      if (rest.length > 0) await next(tx, account, payload.channel, { ...payload, numbers: rest })
    }
  },
  failed: async (tx, { account, payload }) => {
    if (account === null) return
    const unknown = payload.numbers.map((given) => [given, resultOf(given, null, false)])
    await report(tx, account, payload.batch, Object.fromEntries(unknown))
  },
})
