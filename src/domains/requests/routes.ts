import { ok, route } from '../../platform/http/endpoint.ts'
import { cursorsOf } from '../../platform/http/list-cursor.ts'
import { iso } from '../../platform/lib/clock.ts'
import { greatestId, idAt } from '../../platform/lib/id.ts'
import type { Services } from '../../services.ts'
import * as c from './contract.ts'
import * as store from './store.ts'

const cursors = cursorsOf(c.listRequests)
const present = (row: store.RequestRow) => ({
  request_id: row.request_id,
  at: iso(row.at),
  method: row.method,
  route: row.route,
  status: row.status,
  ...(row.error_code === null ? {} : { error_code: row.error_code }),
  key_last_four: row.key_last_four,
  ms: row.ms,
})

export const requestRoutes = ({ db }: Services) => [
  route(c.listRequests, async ({ account, query }) => {
    const { since, until, outcome } = query
    const filter = {
      method: query.method ?? null,
      route: query.route || null,
      status: query.status ?? null,
      isRefused: outcome === undefined ? null : outcome === 'refused',
      errorCode: query.error_code || null,
      requestId: query.request_id || null,
      lastFour: query.key_last_four || null,
      firstId: idAt(since === undefined ? 0 : Date.parse(since)),
      lastId: until === undefined ? greatestId : idAt(Date.parse(until)),
    }
    const limit = query.results_per_page ?? 50
    const before = cursors.read(query.cursor)?.id ?? null
    const { rows, next } = await store.page(db, account.id, filter, { before, limit })
    return ok({
      count: rows.length,
      requests: rows.map(present),
      ...(next === null ? {} : { next_cursor: cursors.write({ time: iso(0), id: next }) }),
    })
  }),
]
