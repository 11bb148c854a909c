import { ok, route } from '../../../platform/http/endpoint.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { parse, print, uuid } from '../../../platform/lib/id.ts'
import type { Services } from '../../../services.ts'
import { actorOf } from '../actor.ts'
import { maxOwnViews, maxSharedViews } from '../limits.ts'
import { refusals } from '../refusals.ts'
import * as c from './contract.ts'
import { readInboxQuery } from './inbox-query.ts'
import * as store from './store.ts'

const presentView = ({ id, user_id, name, page, query }: store.ViewRow) => ({
  uuid: print('VIW', id),
  name,
  page,
  query: Object.fromEntries(Object.entries(query).map(([field, value]) => [field, String(value)])),
  shared: user_id === null,
})

/** The list of conversations reads its filters with their types; other pages read texts. */
const storedQuery = (page: store.ViewPage, query: Record<string, string>): store.ViewRow['query'] =>
  page === 'inbox' ? readInboxQuery(query) : query

const idOf = (printed: string): string => parse('VIW', printed) ?? refuse(refusals.unknownView(printed))

export const viewRoutes = ({ db }: Pick<Services, 'db'>) => [
  route(c.listViews, async ({ query, ...call }) => {
    const { account } = call
    const { user } = await actorOf(db, call)
    return ok({ views: (await store.list(db, account.id, user, query.page ?? null)).map(presentView) })
  }),

  route(c.createView, async ({ body, tx, ...call }) => {
    const { account } = call
    const actor = await actorOf(tx, call)
    const isShared = body.shared ?? false
    if (isShared) actor.require('team_settings')
    const user_id = isShared ? null : actor.user
    await store.lockAccount(tx, account.id)
    const { n, place } = await store.end(tx, account.id, user_id)
    const limit = isShared ? maxSharedViews : maxOwnViews
    if (n >= limit) throw refusals.tooManyViews(limit)
    const { name, page, query } = body
    const view = { id: uuid(), user_id, name, page, query: storedQuery(page, query), place }
    await store.create(tx, account.id, view)
    return ok({ view: presentView(view) })
  }),

  route(c.changeView, async ({ params, body, tx, ...call }) => {
    const { account } = call
    const actor = await actorOf(tx, call)
    await store.lockAccount(tx, account.id)
    const [known = refuse(refusals.unknownView(params.view_uuid))] = await store.lock(tx, account.id, actor.user, [
      idOf(params.view_uuid),
    ])
    const isShared = body.shared ?? known.user_id === null
    if (isShared || known.user_id === null) actor.require('team_settings')
    const user_id = isShared ? null : actor.user
    const place = user_id === known.user_id ? known.place : (await store.end(tx, account.id, user_id)).place
    const { name = known.name, page = known.page } = body
    const query = body.query ?? presentView(known).query
    const changed = { id: known.id, user_id, name, page, query: storedQuery(page, query), place }
    await store.change(tx, account.id, changed)
    return ok({ view: presentView(changed) })
  }),

  route(c.deleteView, async ({ params, tx, ...call }) => {
    const { account } = call
    const actor = await actorOf(tx, call)
    const [known = refuse(refusals.unknownView(params.view_uuid))] = await store.lock(tx, account.id, actor.user, [
      idOf(params.view_uuid),
    ])
    if (known.user_id === null) actor.require('team_settings')
    await store.remove(tx, account.id, known.id)
    return ok({})
  }),

  route(c.orderViews, async ({ body, tx, ...call }) => {
    const { account } = call
    const actor = await actorOf(tx, call)
    await store.lockAccount(tx, account.id)
    const ids = [...new Set(body.uuids.map(idOf))]
    const known = new Map((await store.lock(tx, account.id, actor.user, ids)).map((row) => [row.id, row]))
    const all = await store.list(tx, account.id, actor.user, null)
    for (const id of ids) if (!known.has(id)) throw refusals.unknownView(print('VIW', id))
    for (const isShared of [true, false]) {
      const before = all.filter(({ user_id }) => (user_id === null) === isShared).map(({ id }) => id)
      const first = ids.filter((id) => before.includes(id))
      const after = [...first, ...before.filter((id) => !first.includes(id))]
      if (after.join() === before.join()) continue
      if (isShared) actor.require('team_settings')
      await store.order(tx, account.id, after)
    }
    return ok({ views: (await store.list(tx, account.id, actor.user, null)).map(presentView) })
  }),
]
