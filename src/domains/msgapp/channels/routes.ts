import type { Sql, Tx } from '../../../platform/db/sql.ts'
import { scopeRefusal } from '../../../platform/http/auth.ts'
import { ok, route } from '../../../platform/http/endpoint.ts'
import { cursorsOf } from '../../../platform/http/list-cursor.ts'
import { cutPage, requestedPage, totalFields } from '../../../platform/http/paging.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { phoneNumber } from '../../../platform/http/validation.ts'
import { iso } from '../../../platform/lib/clock.ts'
import { parse, print } from '../../../platform/lib/id.ts'
import type { Seal } from '../../../platform/lib/secret.ts'
import type { Services } from '../../../services.ts'
import { findConnection } from '../../connections/ops.ts'
import { refusals as connectionRefusals } from '../../connections/refusals.ts'
import { refusals } from '../refusals.ts'
import { abilitiesOf, chatKinds } from '../runner/drivers.ts'
import { presentChannel, presentProof } from './channel-presenter.ts'
import { openPairing, transition } from './channel-status.ts'
import * as c from './contract.ts'
import { deleteChannel, makeChannel } from './ops.ts'
import { events } from './status-store.ts'
import * as store from './store.ts'

const channel = async (sql: Sql, account: string, printed: string): Promise<store.ChannelRow> => {
  const id = parse('WPN', printed)
  return (id && (await store.find(sql, account, id))) || refuse(refusals.unknownChannel(printed))
}

const locked = async (tx: Tx, account: string, printed: string): Promise<store.ChannelRow> => {
  const id = parse('WPN', printed)
  return (id && (await store.lock(tx, account, id))) || refuse(refusals.unknownChannel(printed))
}

/** Kinds of real networks. */
const realKinds = chatKinds.filter((kind) => kind !== 'sandbox')

type ChannelParts = Pick<Services, 'db' | 'seal' | 'changes' | 'quotas' | 'sandboxAccounts'>

const cursors = cursorsOf(c.listChannels)

const connectionBy = async (sql: Sql, isSandbox: boolean, account: string, value: string | undefined) => {
  const known = isSandbox ? chatKinds : realKinds
  const id = value === undefined ? null : parse('CNX', value)
  const which = id ? { id } : value === undefined ? null : { name: value }
  return (
    (await findConnection(sql, known, which, account)) ??
    refuse(value === undefined ? refusals.noConnection() : connectionRefusals.unknownConnection(value))
  )
}

/** Returns the pairing code, while pairing. */
const pairingOf = (seal: Seal, row: store.ChannelRow) => {
  if (row.phase !== 'pairing' || !row.sealed_pairing) return null
  const { qr, code, until } = openPairing(seal, row.id, row.sealed_pairing)
  return {
    ...(qr === undefined ? {} : { qr_code: qr }),
    ...(code === undefined ? {} : { pairing_code: code }),
    ...(until === undefined ? {} : { expires_at: iso(until) }),
  }
}

export const channelRoutes = ({ db, seal, changes, quotas, sandboxAccounts }: ChannelParts) => [
  route(c.listChannels, async ({ account, query }) => {
    const { status = 'all' } = query
    const pageRequest = requestedPage(query, cursors.key(query.cursor))
    const found = await store.page(db, account.id, status, pageRequest.read)
    const { rows, fields } = cutPage(pageRequest, found, ({ at, id }) => cursors.write({ time: at, id }))
    const total = await store.count(db, account.id, status)
    return ok({ numbers: rows.map(presentChannel), ...fields, ...totalFields(total) })
  }),

  route(c.createChannel, async ({ account, body, tx, audit }) => {
    const number = phoneNumber(body.phone_number)
    const connection = await connectionBy(tx, sandboxAccounts.has(account.id), account.id, body.connection)
    const name = body.friendly_name ?? number
    const id = await makeChannel(tx, changes, account.id, {
      ...{ connection, number, name },
      isSandbox: sandboxAccounts.has,
    })
    await quotas.check(tx, account, 'channels', () => store.countUsed(tx, account.id))
    await audit(tx, { target: print('WPN', id), after: { phone_number: number, friendly_name: name } })
    return ok({
      channel: presentChannel((await store.find(tx, account.id, id)) ?? refuse(refusals.unknownChannel(id))),
    })
  }),

  route(c.getChannel, async ({ account, params }) => {
    const row = await channel(db, account.id, params.channel_uuid)
    const { abilities } = await abilitiesOf(db, row.connection_id)
    return ok({ channel: presentChannel(row), ...(abilities ? { abilities } : {}) })
  }),

  route(c.getChannelStatus, async ({ account, key, params }) => {
    const row = await channel(db, account.id, params.channel_uuid)
    const { connection_status, enabled, phase, reason, since } = row
    return ok({
      connection_status,
      enabled,
      phase,
      reason,
      since: iso(since),
      ...presentProof(row),
      // Whoever has the code can link the number: it needs the right to change channels.
      ...(scopeRefusal(key, 'numbers') === null ? pairingOf(seal, row) : {}),
      events: (await events(db, account.id, row.id)).map(({ name, detail, at }) => ({
        event: name,
        detail,
        at: iso(at),
      })),
    })
  }),

  route(c.getChannelQr, async ({ account, params }) => {
    const row = await channel(db, account.id, params.channel_uuid)
    const pairing = pairingOf(seal, row) ?? refuse(refusals.notPairing(row.phone_number, row.phase))
    return ok({ connection_status: row.connection_status, ...pairing })
  }),

  route(c.connectChannel, async ({ account, params, tx }) => {
    const row = await locked(tx, account.id, params.channel_uuid)
    const isNew = await store.enable(tx, account.id, row.id, true)
    if (isNew || row.phase === 'failed') {
      await transition(tx, seal, null, [{ channel: row.id, phase: 'connecting', reason: 'requested through the API' }])
      await changes.invalidate(tx, 'msgapp')
    }
    return ok({ channel: presentChannel((await store.find(tx, account.id, row.id)) ?? row) })
  }),

  route(c.disconnectChannel, async ({ account, params, tx }) => {
    const row = await locked(tx, account.id, params.channel_uuid)
    if (await store.enable(tx, account.id, row.id, false)) {
      await transition(tx, seal, null, [
        { channel: row.id, phase: 'disconnected', reason: 'requested through the API' },
      ])
      await changes.invalidate(tx, 'msgapp')
    }
    return ok({ channel: presentChannel((await store.find(tx, account.id, row.id)) ?? row) })
  }),

  route(c.deleteChannel, async ({ account, params, tx, audit }) => {
    const row = await locked(tx, account.id, params.channel_uuid)
    await deleteChannel(tx, account.id, row.id, 'the channel was deleted')
    await audit(tx, { before: { phone_number: row.phone_number, friendly_name: row.friendly_name } })
    changes.invalidateLocally(tx, 'msgapp')
    return ok({})
  }),
]
