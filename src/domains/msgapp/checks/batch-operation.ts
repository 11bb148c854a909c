import type { Tx } from '../../../platform/db/sql.ts'
import { iso } from '../../../platform/lib/clock.ts'
import { print } from '../../../platform/lib/id.ts'
import type { ChatNumberCheck } from '../../../ports/chat.ts'
import { foundOnMsgapp } from '../../contacts/ops.ts'
import { record } from '../../events/ops.ts'
import { checkChunkSize } from '../limits.ts'
import type { Operation } from '../operations/operation.ts'
import { requestOperation } from '../operations/requests.ts'
import * as budget from './check-limits.ts'
import { numberFacts, presentCheck } from './check-presenter.ts'
import * as store from './store.ts'

export const batchOperation = 'check-batch'

/** A channel's pending share of a batch; `limit` is the network's rate limit in checks a minute. */
export type ChannelShare = {
  readonly batch: string
  readonly connection: string
  readonly numbers: readonly string[]
  readonly extra: boolean
  readonly full: boolean
  readonly limit: number
}

export const presentBatch = (row: store.BatchRow) => ({
  uuid: print('CHK', row.id),
  state: row.state,
  total: row.numbers.length,
  checked: Object.keys(row.results).length,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})

/** Presents the result of a number as it was given. */
export const resultOf = (number: string, found: ChatNumberCheck | null, full: boolean) => {
  const target = numberFacts(number)
  return target ? presentCheck(target, found, full) : { is_valid: false }
}

/** Adds results to a batch, and publishes its completion with the last of them. */
export const addResults = async (
  tx: Tx,
  account: string,
  batch: string,
  results: Readonly<Record<string, unknown>>,
) => {
  const row = await store.addResults(tx, account, batch, results)
  if (row?.state !== 'completed') return
  const payload = { ...presentBatch(row), results: row.results }
  await record(tx, [{ account, name: 'msgapp.check.completed', channel: null, conversation: null, payload }])
}

/** Requests the next chunk of a channel's share, at the time that the network's rate allows. */
export const requestNext = async (tx: Tx, account: string, channel: string, share: ChannelShare): Promise<void> => {
  const at = await budget.scheduleBatch(tx, channel, share.limit, Math.min(checkChunkSize, share.numbers.length))
  const { connection } = share
  await requestOperation(tx, { account, connection, channel, act: batchOperation, payload: { ...share }, runAt: at })
}

/** The next chunk of a share, by number: one number may be written in several ways. */
const nextChunk = ({ numbers }: ChannelShare) => {
  const chunk = numbers.slice(0, checkChunkSize)
  const e164 = new Map(chunk.map((one) => [one, numberFacts(one)?.e164 ?? one]))
  return { chunk, e164, distinct: [...new Set(e164.values())] }
}

/** Checks the next chunk of a batch. */
export const makeBatchOperation = (): Operation<ChannelShare, readonly ChatNumberCheck[]> => ({
  run: async (network, { payload }) =>
    (await network.check?.(payload.channel, nextChunk(payload).distinct, payload.extra)) ?? [],
  onComplete: async (tx, done) => {
    for (const { job, result } of done) {
      const { account, payload } = job
      if (account === null) continue
      const { chunk, e164 } = nextChunk(payload)
      await store.cacheResults(tx, { account, ...payload }, result)
      const registered = result.filter((one) => one.there === 'yes').map(({ number }) => number)
      if (registered.length > 0) await foundOnMsgapp(tx, account, registered)
      const found = new Map(result.map((one) => [one.number, one]))
      const results = chunk.map((one) => [one, resultOf(one, found.get(e164.get(one) ?? '') ?? null, payload.full)])
      await addResults(tx, account, payload.batch, Object.fromEntries(results))
      const rest = payload.numbers.slice(chunk.length)
      if (rest.length > 0) await requestNext(tx, account, payload.channel, { ...payload, numbers: rest })
    }
  },
  onDiscard: async (tx, { account, payload }) => {
    if (account === null) return
    const unknown = payload.numbers.map((number) => [number, resultOf(number, null, false)])
    await addResults(tx, account, payload.batch, Object.fromEntries(unknown))
  },
})
