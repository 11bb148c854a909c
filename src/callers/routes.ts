import { createHmac, randomInt } from 'node:crypto'
import type { Sql } from '../db/sql.ts'
import { ok, serve, serveOutside } from '../http/endpoint.ts'
import { conflict, notFound, Problem, unprocessable } from '../http/problem.ts'
import { pageOf } from '../http/schema.ts'
import { phoneNumber } from '../http/validation.ts'
import { iso } from '../lib/clock.ts'
import { parse, print, uuid } from '../lib/id.ts'
import { mainCountryOf } from '../lib/phone.ts'
import { unprovedChannel } from '../msgapp/channels/ops.ts'
import type { Parts } from '../parts.ts'
import { lockNumber } from '../possession/ops.ts'
import { firstSender, isSimulated, sendSecret } from '../sms/ops.ts'
import * as c from './contract.ts'
import { demandWithin } from './limits.ts'
import * as store from './store.ts'

const channelOf = ({ virtual_number_id, msgapp_channel_id }: store.CallerIdRow) => {
  if (virtual_number_id) return { channel_uuid: print('DID', virtual_number_id) }
  return msgapp_channel_id ? { channel_uuid: print('WPN', msgapp_channel_id) } : {}
}

/** What is proved within the sandbox is verified for sandbox accounts alone. */
const isVerified = ({ verified, simulated }: store.CallerIdRow, isSandbox: boolean): boolean =>
  verified && (!simulated || isSandbox)

const shown = (row: store.CallerIdRow, isSandbox: boolean) => ({
  uuid: print('VCI', row.id),
  account_uuid: print('ACC', row.account_id),
  ...channelOf(row),
  phone_number: row.phone_number,
  friendly_name: row.friendly_name,
  iso_country_code: row.iso_country_code,
  type: row.type,
  verified: isVerified(row, isSandbox),
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})

const find = async (sql: Sql, account: string, printed: string): Promise<store.CallerIdRow> => {
  const id = parse('VCI', printed)
  return (id && (await store.find(sql, account, id))) || notFound(`Caller ID ${printed} does not exist`)
}

const textOf = (code: string) =>
  `${code} is the code to show this number as a caller ID. If you did not ask, ignore it.`

export const callerRoutes = (parts: Parts) => {
  const { db, seal, clock, sandboxAccounts } = parts
  const secret = seal.derive('caller id codes')
  // Six digits are soon tried through: without the key their hash tells nothing.
  const hashOf = (id: string, code: string) => createHmac('sha256', secret).update(`${id}:${code}`).digest()

  return [
    serve(c.listCallerIds, async ({ account, query }) => {
      const { page, limit, offset } = pageOf(query)
      const rows = await store.page(db, account.id, limit, offset)
      return ok({
        count: rows.length,
        page,
        total: await store.total(db, account.id),
        caller_ids: rows.map((row) => shown(row, sandboxAccounts.has(account.id))),
      })
    }),

    serve(c.createCallerId, async ({ account, body, tx, audit }) => {
      const number = phoneNumber(body.phone_number)
      const isSandbox = sandboxAccounts.has(account.id)
      if (await store.isShown(tx, account.id, number, isSandbox))
        conflict(`${number} is a caller ID of the account already`, 'caller_id_exists')
      const from = body.from_number
        ? phoneNumber(body.from_number)
        : ((await firstSender(tx, account.id)) ??
          conflict('The account has no number that can send the code by SMS', 'no_sms_number'))
      const id = await store.keep(tx, {
        account_id: account.id,
        id: uuid(),
        msgapp_channel_id: null,
        phone_number: number,
        friendly_name: body.friendly_name ?? null,
        iso_country_code: mainCountryOf(number) ?? '',
        type: 'CI',
      })
      const code = String(randomInt(1_000_000)).padStart(6, '0')
      const renewed = await store.renewCode(tx, account.id, number, {
        hash: hashOf(id, code),
        simulated: isSimulated(parts, account.id, number),
      })
      if (!renewed)
        throw new Problem('tooMany', 'A code was sent within the last minute, or ten within a day', 'code_too_soon', {
          'retry-after': '60',
        })
      demandWithin(await store.addToCounters(tx, account.id, number, { codes: 1 }), account.id, clock.now())
      const message = await sendSecret(parts, tx, account, {
        from,
        to: number,
        text: textOf(code),
        shown: textOf('******'),
      })
      const row = await find(tx, account.id, print('VCI', id))
      await audit(tx, { target: print('VCI', id), after: { phone_number: number, friendly_name: row.friendly_name } })
      return ok({
        caller_id: shown(row, isSandbox),
        message_uuid: print('SMO', message),
        expires_at: iso(renewed.expires_at),
      })
    }),

    // A wrong code is refused, and counted all the same: so not in the transaction of the request.
    serveOutside(c.verifyCallerId, async ({ account, params, body, audit }) => {
      const row = await find(db, account.id, params.caller_id_uuid)
      const isSandbox = sandboxAccounts.has(account.id)
      if (isVerified(row, isSandbox)) return ok({ caller_id: shown(row, isSandbox) })
      const tried = await db.begin(async (tx) => {
        const found = await store.attempt(tx, account.id, row.phone_number, hashOf(row.id, body.code))
        if (!found) return null
        const counters = await store.addToCounters(tx, account.id, row.phone_number, { attempts: 1 })
        demandWithin(counters, account.id, clock.now())
        if (found.is_right) {
          const { simulated } = found
          await store.verify(tx, account.id, { id: row.id, number: row.phone_number, simulated })
          await audit(tx, { before: { verified: false }, after: { verified: true } })
        }
        return found
      })
      if (!tried) conflict(`There is no valid code for ${row.phone_number}: ask for a new one`, 'code_expired')
      if (!tried?.is_right) unprocessable('code is not the one that was sent', 'code_wrong')
      return ok({ caller_id: shown(await find(db, account.id, params.caller_id_uuid), isSandbox) })
    }),

    serve(c.deleteCallerId, async ({ account, params, tx, audit }) => {
      const row = await find(tx, account.id, params.caller_id_uuid)
      if (row.type !== 'CI') conflict(`${row.phone_number} goes with its number or channel`, 'not_own')
      await lockNumber(tx, row.phone_number)
      await store.remove(tx, account.id, { id: row.id })
      if (await unprovedChannel(tx, account.id, row.phone_number))
        conflict(`${row.phone_number} is a channel by this proof alone: delete that first`, 'channel_needs_proof')
      await audit(tx, { before: { phone_number: row.phone_number, friendly_name: row.friendly_name } })
      return ok({})
    }),
  ]
}
