import { e164 } from '@trunkline/phone/phone.ts'
import { ok, route, routeWithoutTransaction } from '../../../platform/http/endpoint.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { parse, uuid } from '../../../platform/lib/id.ts'
import type { ChatNumberCheck } from '../../../ports/chat.ts'
import type { Services } from '../../../services.ts'
import { checkTimeoutMs } from '../limits.ts'
import { requestOperation, waitForAnswer } from '../operations/requests.ts'
import { refusals } from '../refusals.ts'
import { abilitiesOf } from '../runner/drivers.ts'
import { addResults, presentBatch, requestNext, resultOf } from './batch-operation.ts'
import * as budget from './check-limits.ts'
import { checkOperation } from './check-operation.ts'
import { numberFacts, presentCheck } from './check-presenter.ts'
import * as c from './contract.ts'
import * as store from './store.ts'

export const checkRoutes = ({ db }: Services) => {
  const lineOf = async (account: string, text: string): Promise<store.CheckChannelRow> => {
    const id = parse('WPN', text)
    const number = id ? null : e164(text)
    const by = id ? { id } : number ? { number } : null
    return (by && (await store.findChannel(db, account, by))) || refuse(refusals.notAConnectedNumber(text))
  }

  return [
    routeWithoutTransaction(c.checkNumber, async ({ account, params, query }) => {
      const line = await lineOf(account.id, params.your_number)
      const extra = query['extra-information'] ?? false
      const target = numberFacts(params.number_to_check)
      if (!target) return { is_valid: false }
      const { checksPerMinute } = await abilitiesOf(db, line.connection_id)
      const others = await store.listConnected(db, account.id)
      const full = extra && others.some(({ is_business }) => is_business)

      const place = { account: account.id, connection: line.connection_id, extra }

      const request = await db.begin(async (tx): Promise<ChatNumberCheck | { id: string; wait: number } | null> => {
        const [cached] = await store.findFresh(tx, place, [target.e164])
        // Without a network to ask, the request is not a check.
        if (!cached && (checksPerMinute === 0 || line.connection_status !== 'C')) return null
        await budget.count(tx, account, 1, extra ? 1 : 0)
        await budget.takeCheck(tx, account, others.length)
        if (cached) return cached.found
        const { at, wait } = await budget.scheduleCheck(tx, line.id, checksPerMinute)
        const id = await requestOperation(tx, {
          account: account.id,
          connection: line.connection_id,
          channel: line.id,
          act: checkOperation,
          payload: { connection: line.connection_id, number: target.e164, extra },
          runAt: at,
          milliseconds: wait + checkTimeoutMs,
        })
        return { id, wait }
      })
      if (!request || 'there' in request) return presentCheck(target, request, full)
      const answer = await waitForAnswer<ChatNumberCheck | null>(db, request.id, request.wait + checkTimeoutMs)
      return presentCheck(target, answer?.outcome === 'done' ? answer.value : null, full)
    }),

    route(c.checkNumbers, async ({ account, body, tx }) => {
      const { extra_information: extra = false } = body
      const numbers = [...new Set(body.numbers)]
      const valid = numbers.filter((number) => numberFacts(number))
      const lines = await store.listConnected(tx, account.id)
      if (lines.length === 0) throw refusals.noConnectedNumber()
      const paces = new Map<string, number>()
      for (const { connection_id } of lines)
        if (!paces.has(connection_id)) paces.set(connection_id, (await abilitiesOf(tx, connection_id)).checksPerMinute)
      const able = lines.flatMap((line) => {
        const limit = paces.get(line.connection_id) ?? 0
        return limit > 0 ? { ...line, limit } : []
      })
      const full = extra && lines.some(({ is_business }) => is_business)
      // The request itself is one API call.
      await budget.count(tx, account, valid.length, Math.max(0, valid.length * (extra ? 2 : 1) - 1))

      const id = uuid()
      await store.addBatch(tx, account.id, id, numbers, extra)
      const e164 = valid.map((number) => numberFacts(number)?.e164 ?? number)
      const fresh = new Map<string, ChatNumberCheck>()
      for (const connection of new Set(able.map(({ connection_id }) => connection_id)))
        for (const { number, found } of await store.findFresh(tx, { account: account.id, connection, extra }, e164))
          fresh.set(number, found)
      const open = valid.filter((_, i) => able.length > 0 && !fresh.has(e164[i] ?? ''))
      const results = numbers
        .filter((number) => !open.includes(number))
        .map((number) => [number, resultOf(number, fresh.get(numberFacts(number)?.e164 ?? '') ?? null, full)])
      await addResults(tx, account.id, id, Object.fromEntries(results))
      for (const [i, { id: channel, connection_id: connection, limit: pace }] of able.entries()) {
        const share = open.filter((_, place) => place % able.length === i)
        const limit = Math.min(pace, account.onTrial ? budget.trialChecksPerMinute : Number.POSITIVE_INFINITY)
        if (share.length > 0)
          await requestNext(tx, account.id, channel, { batch: id, connection, numbers: share, extra, full, limit })
      }
      return ok({ batch: presentBatch((await store.batch(tx, account.id, id)) ?? refuse(refusals.batchDeleted())) })
    }),

    route(c.getCheckBatch, async ({ account, params: { batch_uuid: printed } }) => {
      const id = parse('CHK', printed)
      const row = (id && (await store.batch(db, account.id, id))) || refuse(refusals.unknownBatch(printed))
      // Results are stored in their API form.
      return ok({ batch: presentBatch(row), results: row.results as Record<string, { is_valid: boolean }> })
    }),
  ]
}
