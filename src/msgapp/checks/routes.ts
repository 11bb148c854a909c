import type { ChatChecked } from '../../connectors/chat-port.ts'
import { ok, serve, serveOutside } from '../../http/endpoint.ts'
import { conflict, notFound } from '../../http/problem.ts'
import { parse, uuid } from '../../lib/id.ts'
import { e164 } from '../../lib/phone.ts'
import type { Parts } from '../../parts.ts'
import { answered, ask } from '../asking.ts'
import { checksOf } from '../networks.ts'
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
      const pace = checksOf(line.platform)
      const others = await store.connected(db, account.id)
      const full = extra && others.some(({ is_business }) => is_business)

      const asked = await db.begin(async (tx): Promise<ChatChecked | { id: string; wait: number } | null> => {
        await budget.count(tx, account, 1, extra ? 1 : 0)
        await budget.spend(tx, account, others.length)
        const [cached] = await store.fresh(tx, line.connection_id, [target.e164], extra)
        if (cached) return cached.found
        if (pace === 0 || line.connection_status !== 'C') return null
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
      const lines = await store.connected(tx, account.id)
      if (lines.length === 0) conflict('No number of the account is connected', 'channel_connecting')
      const able = lines.filter(({ platform }) => checksOf(platform) > 0)
      const full = extra && lines.some(({ is_business }) => is_business)
      // The request itself is one call.
      await budget.count(tx, account, numbers.length, numbers.length * (extra ? 2 : 1) - 1)

      const id = uuid()
      await store.addBatch(tx, account.id, id, numbers, extra)
      const valid = numbers.filter((given) => able.length > 0 && known(given))
      const at = numbers.filter((given) => !valid.includes(given)).map((given) => [given, resultOf(given, null, full)])
      await report(tx, account.id, id, Object.fromEntries(at))
      for (const [i, { id: channel, connection_id: connection, platform }] of able.entries()) {
        const share = valid.filter((_, place) => place % able.length === i)
        const limit = checksOf(platform)
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
