import { cursorsOf } from '../../http/cursor.ts'
import { ok, serve, serveOutside } from '../../http/endpoint.ts'
import { conflict, notFound } from '../../http/problem.ts'
import { iso } from '../../lib/clock.ts'
import { parse, print } from '../../lib/id.ts'
import type { Parts } from '../../parts.ts'
import { type Intake, type Line, makeKeeper } from '../intake.ts'
import * as c from './contract.ts'
import { isRefused, reasonOf } from './ops.ts'
import * as store from './store.ts'

const most = 100

/** Characters that are shown of each. */
const shownOfEach = 4_000

const shown = (row: store.Row) => ({
  uuid: print('ASD', row.id),
  account_uuid: print('ACC', row.account_id),
  channel_uuid: print('WPN', row.channel_id),
  phone_number: row.phone_number,
  platform: row.platform,
  what: row.what,
  reason: row.reason,
  content: row.content,
  created_at: iso(row.created_at),
})

const lineOf = (row: store.Row): Line => ({
  account: row.account_id,
  channel: row.channel_id,
  connection: row.connection_id,
  platform: row.platform,
  number: row.phone_number,
})

const cursors = cursorsOf(c.listAside)

export const asideRoutes = (parts: Parts) => {
  const { db } = parts
  const keeper = makeKeeper(parts)

  /** Of what `withAside` wrote: the function, and what it was given. A time that was none is that at which it came. */
  const again = ({ what, content, created_at }: store.Row, line: Line): Promise<void> => {
    const keep = keeper[what as keyof Intake] as (line: Line, ...given: unknown[]) => Promise<void>
    const timed = (key: string, value: unknown) => (key === 'at' && value === null ? created_at.getTime() : value)
    return keep(line, ...(JSON.parse(content, timed) as unknown[]))
  }

  return [
    serve(c.listAside, async ({ query }) => {
      const after = cursors.read(query.cursor)
      const found = await store.list(db, after?.id ?? null, most + 1, shownOfEach)
      const rows = found.slice(0, most)
      const last = found.length > most ? rows.at(-1) : undefined
      return ok({
        set_aside: rows.map(shown),
        ...(last ? { next_cursor: cursors.write({ time: last.created_at.toISOString(), id: last.id }) } : {}),
      })
    }),

    serveOutside(c.retryAside, async ({ params, audit }) => {
      const id = parse('ASD', params.uuid)
      const row = (id && (await store.find(db, id))) || notFound(`Nothing is set aside as ${params.uuid}`)
      await again(row, lineOf(row)).catch((error: unknown) => {
        if (!isRefused(error)) throw error
        conflict(`It is refused still: ${reasonOf(error)}`, 'still_refused')
      })
      await db.begin(async (tx) => {
        await store.remove(tx, row.account_id, row.id)
        const target = [print('ASD', row.id), print('WPN', row.channel_id)]
        await audit(tx, { target, account: row.account_id, before: { what: row.what } })
      })
      return ok({})
    }),
  ]
}
