import { mainCountryOf } from '@trunkline/phone/phone.ts'
import type { Sql, Tx } from '../../platform/db/sql.ts'
import type { Account } from '../../platform/http/auth.ts'
import { ok, route, routeWithoutTransaction } from '../../platform/http/endpoint.ts'
import { cursorsOf } from '../../platform/http/list-cursor.ts'
import { cutPage, requestedPage, totalFields } from '../../platform/http/paging.ts'
import { refuse } from '../../platform/http/problem.ts'
import { phoneNumber } from '../../platform/http/validation.ts'
import { iso } from '../../platform/lib/clock.ts'
import { parse, print, uuid } from '../../platform/lib/id.ts'
import type { Services } from '../../services.ts'
import { queueCall } from '../calls/orders/ops.ts'
import { unprovedChannel } from '../msgapp/channels/ops.ts'
import { lockNumber } from '../possession/ops.ts'
import { firstSender, isSimulated, sendSecretMessage } from '../sms/ops.ts'
import * as c from './contract.ts'
import { assertWithinLimits } from './limits.ts'
import { codeHasher, makeCode } from './ops.ts'
import { refusals } from './refusals.ts'
import * as store from './store.ts'

/** A number to prove, the id of its caller ID without prefix, and the sender's number. */
type CodeRecipient = { readonly id: string; readonly number: string; readonly from: string | null }

const channelOf = ({ virtual_number_id, msgapp_channel_id }: store.CallerIdRow) => {
  if (virtual_number_id) return { channel_uuid: print('DID', virtual_number_id) }
  return msgapp_channel_id ? { channel_uuid: print('WPN', msgapp_channel_id) } : {}
}

/** Whether a caller ID is verified. Proof within the sandbox counts for sandbox accounts only. */
const isVerified = ({ verified, simulated, stock }: store.CallerIdRow, isSandbox: boolean): boolean =>
  verified && (isSandbox || !(simulated || stock))

/** Returns the state of the newest code of an unproved number. */
const presentVerification = (row: store.CallerIdRow, isSandbox: boolean) => {
  const { code_expires_at: until, code_call_id: call, code_is_pending: isPending } = row
  if (until === null || isVerified(row, isSandbox)) return {}
  return {
    verification: {
      method: call ? ('call' as const) : ('sms' as const),
      state: isPending ? ('pending' as const) : ('expired' as const),
      expires_at: iso(until),
      ...(call ? { call_uuid: print('CDR', call) } : {}),
    },
  }
}

const presentCallerId = (row: store.CallerIdRow, isSandbox: boolean) => ({
  uuid: print('VCI', row.id),
  account_uuid: print('ACC', row.account_id),
  ...channelOf(row),
  phone_number: row.phone_number,
  friendly_name: row.friendly_name,
  iso_country_code: row.iso_country_code,
  type: row.type,
  verified: isVerified(row, isSandbox),
  ...presentVerification(row, isSandbox),
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})

const find = async (sql: Sql, account: string, printed: string): Promise<store.CallerIdRow> => {
  const id = parse('VCI', printed)
  return (id && (await store.find(sql, account, id))) || refuse(refusals.unknownCallerId(printed))
}

const codeMessage = (code: string) =>
  `${code} is the code to show this number as a caller ID. If you did not ask, ignore it.`

const cursors = cursorsOf(c.listCallerIds)

/** Sends verification codes to numbers, by SMS or by call. */
const makeCodeSender = (parts: Services) => {
  const { seal, clock, sandboxAccounts } = parts
  const hashOf = codeHasher(seal)

  /** Replaces the last code by a new one, within the limits. @returns the expiry */
  const renew = async (tx: Tx, account: string, number: string, code: Parameters<typeof store.renewCode>[3]) => {
    const renewed = await store.renewCode(tx, account, number, code)
    if (!renewed) throw refusals.codeTooSoon()
    assertWithinLimits(await store.addToCounters(tx, account, number, { codes: 1 }), account, clock.now())
    return renewed.expires_at
  }

  /** Sends a code to the number by SMS. */
  const sendCode = async (tx: Tx, account: Account, { id, number, from }: CodeRecipient) => {
    const code = makeCode()
    const sender =
      from ?? (await firstSender(tx, account.id, sandboxAccounts.has(account.id))) ?? refuse(refusals.noSmsNumber())
    const simulated = isSimulated(parts, account.id, number)
    const expires = await renew(tx, account.id, number, { hash: hashOf(id, code), simulated, call: null })
    const text = { text: codeMessage(code), shown: codeMessage('******') }
    const message = await sendSecretMessage(parts, tx, account, { from: sender, to: number, ...text })
    return { message_uuid: print('SMO', message), expires_at: iso(expires) }
  }

  /** Calls the number, where the callee types the code. Checks the limits before queueing the call. */
  const callForCode = async (tx: Tx, account: Account, { id, number, from }: CodeRecipient) => {
    const code = makeCode()
    const call = uuid()
    const expires = await renew(tx, account.id, number, { hash: hashOf(id, code), simulated: false, call })
    await queueCall(parts, tx, account, { id: call, to: number, from })
    return { call_uuid: print('CDR', call), code, expires_at: iso(expires) }
  }

  return { sendCode, callForCode }
}

export const callerRoutes = (parts: Services) => {
  const { db, seal, clock, sandboxAccounts } = parts
  const hashOf = codeHasher(seal)
  const { sendCode, callForCode } = makeCodeSender(parts)

  return [
    route(c.listCallerIds, async ({ account, query }) => {
      const pageRequest = requestedPage(query, cursors.key(query.cursor))
      const found = await store.page(db, account.id, pageRequest.read)
      const { rows, fields } = cutPage(pageRequest, found, ({ at, id }) => cursors.write({ time: at, id }))
      return ok({
        ...fields,
        ...totalFields(await store.total(db, account.id)),
        caller_ids: rows.map((row) => presentCallerId(row, sandboxAccounts.has(account.id))),
      })
    }),

    route(c.createCallerId, async ({ account, body, tx, audit }) => {
      const number = phoneNumber(body.phone_number)
      const isSandbox = sandboxAccounts.has(account.id)
      if (await store.isUsable(tx, account.id, number, isSandbox)) throw refusals.callerIdExists(number)
      const from = body.from_number ? phoneNumber(body.from_number) : null
      const { method = 'sms' } = body
      const id = await store.saveCallerId(tx, {
        account_id: account.id,
        id: uuid(),
        msgapp_channel_id: null,
        phone_number: number,
        friendly_name: body.friendly_name ?? null,
        iso_country_code: mainCountryOf(number) ?? '',
        type: 'CI',
      })
      const sent = await (method === 'call' ? callForCode : sendCode)(tx, account, { id, number, from })
      const row = await find(tx, account.id, print('VCI', id))
      const after = { phone_number: number, friendly_name: row.friendly_name, method }
      await audit(tx, { target: print('VCI', id), after })
      return ok({ caller_id: presentCallerId(row, isSandbox), ...sent })
    }),

    // Outside the transaction of the request: a wrong code is refused, but the attempt must count.
    routeWithoutTransaction(c.verifyCallerId, async ({ account, params, body, audit }) => {
      const row = await find(db, account.id, params.caller_id_uuid)
      const isSandbox = sandboxAccounts.has(account.id)
      if (isVerified(row, isSandbox)) return ok({ caller_id: presentCallerId(row, isSandbox) })
      if (row.code_call_id !== null && row.code_is_pending) throw refusals.codeByCall(row.phone_number)
      const tried = await db.begin(async (tx) => {
        const code = { hash: hashOf(row.id, body.code), call: null }
        const found = await store.attempt(tx, account.id, row.phone_number, code)
        if (!found) return null
        const counters = await store.addToCounters(tx, account.id, row.phone_number, { attempts: 1 })
        assertWithinLimits(counters, account.id, clock.now())
        if (found.is_right) {
          const { simulated } = found
          await store.verify(tx, account.id, { id: row.id, number: row.phone_number, simulated })
          await audit(tx, { before: { verified: false }, after: { verified: true } })
        }
        return found
      })
      if (!tried) throw refusals.codeExpired(row.phone_number)
      if (!tried?.is_right) throw refusals.codeWrong()
      return ok({ caller_id: presentCallerId(await find(db, account.id, params.caller_id_uuid), isSandbox) })
    }),

    route(c.deleteCallerId, async ({ account, params, tx, audit }) => {
      const row = await find(tx, account.id, params.caller_id_uuid)
      if (row.type !== 'CI') throw refusals.callerIdNotRemovable(row.phone_number)
      await lockNumber(tx, row.phone_number)
      await store.remove(tx, account.id, { id: row.id })
      if (await unprovedChannel(tx, account.id, row.phone_number, sandboxAccounts.has(account.id)))
        throw refusals.callerIdProvesChannel(row.phone_number)
      await audit(tx, { before: { phone_number: row.phone_number, friendly_name: row.friendly_name } })
      return ok({})
    }),
  ]
}
