import { ok, serve } from '../http/endpoint.ts'
import { invalid, notFound, unprocessable } from '../http/problem.ts'
import { pageOf } from '../http/schema.ts'
import { phoneNumber } from '../http/validation.ts'
import { readCursor, writeCursor } from '../lib/cursor.ts'
import { parse, print } from '../lib/id.ts'
import { dollars } from '../lib/money.ts'
import { mainCountryOf } from '../lib/phone.ts'
import type { Parts } from '../parts.ts'
import { userOf } from '../users/ops.ts'
import * as c from './contract.ts'
import { shownCall } from './shown.ts'
import * as store from './store.ts'

const timeOf = (given: string | undefined) => (given === undefined ? null : new Date(given))
const numberOf = (given: string | undefined) => (given === undefined ? null : phoneNumber(given))

export const callRoutes = ({ db, prices }: Parts) => [
  serve(c.estimateCallPrice, async ({ params }) => {
    const number = phoneNumber(params.number)
    const price =
      prices.of('call_out', number) ??
      unprocessable(`There is no price for calls to ${number}`, 'destination_not_priced')
    return ok({
      price_per_minute: dollars(price),
      currency: 'USD' as const,
      iso_country_code: mainCountryOf(number) ?? '',
    })
  }),

  serve(c.getCallHistory, async ({ account, query }) => {
    const { page, limit, offset } = pageOf(query)
    const after = query.cursor
      ? (readCursor(query.cursor) ?? invalid('cursor must be a next_cursor of this list'))
      : null
    const filter: store.Filter = {
      direction: query.direction === undefined ? null : query.direction === 'inbound' ? 'I' : 'O',
      to: numberOf(query.to_number),
      from: numberOf(query.from_number),
      status: query.status ?? null,
      since: timeOf(query.since),
      until: timeOf(query.until),
    }
    const rows = await store.page(db, account.id, filter, after, limit + 1, after ? 0 : offset)
    const shown = rows.slice(0, limit)
    const last = rows.length > limit ? shown.at(-1) : undefined
    return ok({
      count: shown.length,
      page,
      total: await store.total(db, account.id, filter),
      cdrs: shown.map(shownCall),
      ...(last ? { next_cursor: writeCursor({ time: last.at, id: last.id }) } : {}),
    })
  }),

  serve(c.getCall, async ({ account, params }) => {
    const id = parse('CDR', params.call_uuid)
    const row = (id && (await store.find(db, account.id, id))) || notFound(`Call ${params.call_uuid} does not exist`)
    const agent = row.user_id ? await userOf(db, account.id, row.user_id) : null
    return ok({
      cdr: shownCall(row),
      ...(agent
        ? {
            agent: {
              uuid: print('USR', agent.id),
              first_name: agent.first_name,
              last_name: agent.last_name,
              full_name: `${agent.first_name} ${agent.last_name}`,
            },
          }
        : {}),
    })
  }),
]
