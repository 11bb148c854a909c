import type { BindState, CarrierState } from '../connectors/port.ts'
import { ok, serve, serveOutside } from '../http/endpoint.ts'
import { conflict, notFound } from '../http/problem.ts'
import { checkPart } from '../http/validation.ts'
import { iso } from '../lib/clock.ts'
import { parse, print, uuid } from '../lib/id.ts'
import type { Parts } from '../parts.ts'
import * as c from './contract.ts'
import { changes as changesOf } from './kinds.ts'
import { opened, sealed } from './ops.ts'
import * as store from './store.ts'

const testSeconds = 10

const shownLink = (link: Omit<BindState, 'bind'>) => ({
  state: link.state,
  since: iso(link.since),
  ...(link.lastError ? { last_error: link.lastError } : {}),
  fatal: link.fatal,
  in_flight: link.inFlight,
  submitted: link.submitted,
})

const shownState = (state: CarrierState) => ({
  ...shownLink(state),
  binds: state.binds.map((one) => ({ bind: one.bind, ...shownLink(one) })),
})

const unknown = (printed: string) => notFound(`No connection ${printed}`)
const idOf = (printed: string) => parse('CNX', printed) ?? unknown(printed)
const taken = (name: string) => conflict(`There is a connection named ${name} already`)

export const connectionRoutes = ({ db, seal, changes, carriers }: Parts) => {
  const shown = (row: store.ConnectionRow) => {
    const state = carriers.state(row.id)
    return {
      uuid: print('CNX', row.id),
      kind: row.kind,
      name: row.name,
      settings: row.settings,
      enabled: row.enabled,
      ...(state ? { state: shownState(state) } : {}),
      created_at: iso(row.created_at),
      updated_at: iso(row.updated_at),
    }
  }

  return [
    serve(c.createConnection, async ({ body, tx }) => {
      const { kind, name, settings, enabled = true } = body
      const row = await store.create(tx, uuid(), kind, { name, enabled, ...sealed(kind, settings, seal) })
      await changes.announce(tx, 'connections')
      return ok({ connection: shown(row ?? taken(name)) })
    }),

    serve(c.listConnections, async () => ok({ connections: (await store.all(db)).map(shown) })),

    serve(c.getConnection, async ({ params }) => {
      const row = await store.find(db, idOf(params.connection_uuid))
      return ok({ connection: shown(row ?? unknown(params.connection_uuid)) })
    }),

    serve(c.changeConnection, async ({ params, body, request, tx }) => {
      const row = (await store.find(tx, idOf(params.connection_uuid))) ?? unknown(params.connection_uuid)
      const { name = row.name, enabled = row.enabled } = body
      if (await store.isTaken(tx, name, row.id)) taken(name)
      checkPart(request, changesOf[row.kind], body.settings ?? {}, 'settings')
      const content = sealed(row.kind, { ...opened(row, seal), ...body.settings }, seal)
      const changed = await store.change(tx, row.id, { name, enabled, ...content })
      await changes.announce(tx, 'connections')
      return ok({ connection: shown(changed) })
    }),

    serve(c.deleteConnection, async ({ params, tx }) => {
      if ((await store.remove(tx, idOf(params.connection_uuid))) === 0) unknown(params.connection_uuid)
      await changes.announce(tx, 'connections')
      return ok({})
    }),

    serveOutside(c.testConnection, async ({ params }) => {
      const row = (await store.find(db, idOf(params.connection_uuid))) ?? unknown(params.connection_uuid)
      if (!row.enabled) return ok({ working: false, message: 'the connection is not enabled' })
      const state = await carriers.settled(row.id, testSeconds)
      if (!state) return ok({ working: false, message: 'no process with the role worker runs it here' })
      return ok({ working: state.state === 'bound', message: state.lastError ?? state.state })
    }),
  ]
}
