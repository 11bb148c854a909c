import type { ChatChecked } from '../../connectors/chat-port.ts'
import { ok, serve, serveOutside } from '../../http/endpoint.ts'
import { notFound, Problem } from '../../http/problem.ts'
import { parse, uuid } from '../../lib/id.ts'
import { e164 } from '../../lib/phone.ts'
import type { Parts } from '../../parts.ts'
import { answered, ask } from '../asking.ts'
import { ableOf } from '../drivers.ts'
import { checkAct } from './act.ts'
import { next, report, resultOf, shownBatch } from './batch.ts'
import * as budget from './budget.ts'
import * as c from './contract.ts'
import { known, shownCheck } from './shown.ts'
import * as store from './store.ts'

/** How long a network may take over a check once its turn has come; a connector answers within 10 s. */
const patienceMs = 10_000

export const checkRoutes = ({ db }: Parts) => {
  const lineOf = async (account: string, given: string): Promise<store.Line> => {
    const id = parse('WPN', given)
    const number = id ? null : e164(given)
    const by = id ? { id } : number ? { number } : null
    return (by && (await store.line(db, account, by))) || notFound(`${given} is no connected number of the account`)
  }

  return [
    serveOutside(c.checkNumber, async ({ account, params, query }) => {
      const line = await lineOf(account.id, params.your_number)
      const extra = query['extra-information'] ?? false
      const target = known(params.number_to_check)
      if (!target) return { is_valid: false }
      const { checksPerMinute: pace } = await ableOf(db, line.connection_id)
      const others = await store.connected(db, account.id)
      const full = extra && others.some(({ is_business }) => is_business)

      const place = { account: account.id, connection: line.connection_id, extra }

      const asked = await db.begin(async (tx): Promise<ChatChecked | { id: string; wait: number } | null> => {
        const [cached] = await store.fresh(tx, place, [target.e164])
        // Nobody can be asked: that is no check.
        if (!cached && (pace === 0 || line.connection_status !== 'C')) return null
        await budget.count(tx, account, 1, extra ? 1 : 0)
        await budget.spend(tx, account, others.length)
        if (cached) return cached.found
        const { at, wait } = await budget.turn(tx, line.id, pace)
        const id = await ask(tx, {
          account: account.id,
          connection: line.connection_id,
          channel: line.id,
          act: checkAct,
          payload: { connection: line.connection_id, number: target.e164, extra },
          runAt: at,
          milliseconds: wait + patienceMs,
        })
        return { id, wait }
      })
      if (!asked || 'there' in asked) return shownCheck(target, asked, full)
      const answer = await answered<ChatChecked | null>(db, asked.id, asked.wait + patienceMs)
      return shownCheck(target, answer?.outcome === 'done' ? answer.value : null, full)
    }),

    serve(c.checkNumbers, async ({ account, body, tx }) => {
      const { extra_information: extra = false } = body
      const numbers = [...new Set(body.numbers)]
      const valid = numbers.filter((given) => known(given))
      const lines = await store.connected(tx, account.id)
      if (lines.length === 0)
        throw new Problem('conflict', 'No number of the account is connected', 'channel_connecting', {
          'retry-after': '10',
        })
      const paces = new Map<string, number>()
      for (const { connection_id } of lines)
        if (!paces.has(connection_id)) paces.set(connection_id, (await ableOf(tx, connection_id)).checksPerMinute)
      const able = lines.flatMap((line) => {
        const limit = paces.get(line.connection_id) ?? 0
        return limit > 0 ? { ...line, limit } : []
      })
      const full = extra && lines.some(({ is_business }) => is_business)
      // The request itself is one call.
      await budget.count(tx, account, valid.length, Math.max(0, valid.length * (extra ? 2 : 1) - 1))

      const id = uuid()
      await store.addBatch(tx, account.id, id, numbers, extra)
      const e164 = valid.map((given) => known(given)?.e164 ?? given)
      const fresh = new Map<string, ChatChecked>()
      for (const connection of new Set(able.map(({ connection_id }) => connection_id)))
        for (const { number, found } of await store.fresh(tx, { account: account.id, connection, extra }, e164))
          fresh.set(number, found)
      const open = valid.filter((_, i) => able.length > 0 && !fresh.has(e164[i] ?? ''))
      const told = numbers
        .filter((given) => !open.includes(given))
        .map((given) => [given, resultOf(given, fresh.get(known(given)?.e164 ?? '') ?? null, full)])
      await report(tx, account.id, id, Object.fromEntries(told))
      for (const [i, { id: channel, connection_id: connection, limit: pace }] of able.entries()) {
        const share = open.filter((_, place) => place % able.length === i)
        const limit = Math.min(pace, account.onTrial ? budget.trialPace : Number.POSITIVE_INFINITY)
        if (share.length > 0)
          await next(tx, account.id, channel, { batch: id, connection, numbers: share, extra, full, limit })
      }
      return ok({ batch: shownBatch((await store.batch(tx, account.id, id)) ?? notFound('the batch is gone')) })
    }),

    serve(c.getCheckBatch, async ({ account, params: { batch_uuid: printed } }) => {
      const id = parse('CHK', printed)
      const row = (id && (await store.batch(db, account.id, id))) || notFound(`No batch ${printed}`)
      // Results are kept as they are shown.
      return ok({ batch: shownBatch(row), results: row.results as Record<string, { is_valid: boolean }> })
    }),
  ]
}
