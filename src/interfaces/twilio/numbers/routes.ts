import { e164 } from '@trunkline/phone/phone.ts'
import { assertMayRunProgram } from '../../../domains/applications/ops.ts'
import { contentsOf, type NarrowingCall } from '../../../domains/inbox/narrowing/ops.ts'
import {
  auditedNumber,
  changeNumber,
  findNumber,
  type NumberFilters,
  type NumberRow,
  pageOfNumbers,
} from '../../../domains/numbers/lifecycle/ops.ts'
import { release } from '../../../domains/numbers/ops.ts'
import { makeNumberShop, type NumberShop } from '../../../domains/numbers/purchase/ops.ts'
import type { Sql, Tx } from '../../../platform/db/sql.ts'
import type { Account } from '../../../platform/http/auth.ts'
import {
  type Endpoint,
  route,
  routeHotPathWithPreparation,
  routeWithPreparation,
} from '../../../platform/http/endpoint.ts'
import { requestDigest } from '../../../platform/http/idempotency.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { print } from '../../../platform/lib/id.ts'
import { parseSid, printSid } from '../../../platform/lib/sid.ts'
import type { Services } from '../../../services.ts'
import { checkAddresses } from '../address-check.ts'
import { methodOf } from '../compat-schemas.ts'
import { cutPage, pageFields, pageOf, rangeOf } from '../list-pages.ts'
import { refusals } from '../refusals.ts'
import * as store from '../store.ts'
import { availableRoutes } from './available-routes.ts'
import * as c from './contract.ts'
import { presentNumber } from './presenter.ts'
import { changedVoice, type VoiceFields } from './voice-settings.ts'

type Settings = VoiceFields & {
  readonly FriendlyName?: string
  readonly SmsUrl?: string
  readonly SmsMethod?: string
  readonly SmsFallbackUrl?: string
  readonly SmsFallbackMethod?: string
}

/** Returns the addresses after a change. */
const changedAddresses = (before: store.NumberAddresses, body: Settings): store.NumberAddresses => ({
  sms_url: body.SmsUrl ?? before.sms_url,
  sms_method: body.SmsMethod ? methodOf(body.SmsMethod) : before.sms_method,
  sms_fallback_url: body.SmsFallbackUrl ?? before.sms_fallback_url,
  sms_fallback_method: body.SmsFallbackMethod ? methodOf(body.SmsFallbackMethod) : before.sms_fallback_method,
})

const addressFields = ['SmsUrl', 'SmsFallbackUrl', 'VoiceUrl', 'VoiceFallbackUrl', 'StatusCallback'] as const

/** Each lets calls run a program, or tells their parties. */
const programFields = ['VoiceUrl', 'VoiceFallbackUrl', 'VoiceApplicationSid', 'StatusCallback'] as const

const list = c.listIncoming.id

/** Functions that the handlers of the account's numbers share. */
const makeHelpers = ({ outbound }: Pick<Services, 'outbound'>, shop: NumberShop) => {
  const numberOf = async (sql: Sql, account: string, sid: string): Promise<NumberRow> => {
    const id = parseSid('PN', sid)
    const row = id === null ? null : await findNumber(sql, account, id)
    return row ?? refuse(refusals.unknownResource(`IncomingPhoneNumbers/${sid}`))
  }

  /** Presents numbers of an account, with a query for all addresses and one for each group of numbers. */
  const presentAll = async (sql: Sql, account: string, rows: readonly NumberRow[]) => {
    const ids = rows.map(({ id }) => id)
    const addresses = await store.addresses(sql, account, ids)
    const features = new Map<string, ReturnType<NumberShop['featuresOf']>>()
    const featuresOf = (row: NumberRow) => {
      const known = features.get(row.group_id) ?? shop.featuresOf(row)
      features.set(row.group_id, known)
      return known
    }
    return await Promise.all(
      rows.map(async (row) => presentNumber(row, addresses.get(row.id) ?? store.noAddresses, await featuresOf(row))),
    )
  }

  const present = async (sql: Sql, row: NumberRow) => {
    const [presented] = await presentAll(sql, row.account_id, [row])
    return presented ?? refuse(refusals.unknownResource('IncomingPhoneNumbers'))
  }

  const prepare = ({ body, isSandbox }: { readonly body: Settings; readonly isSandbox: boolean }) =>
    checkAddresses(outbound.of(isSandbox), body, addressFields, refusals.badUrl)

  /** Checks that the caller may read and do what an address may from then on. @throws Problem 403 */
  const checkReader = async (sql: Sql, call: NarrowingCall & { readonly account: Account }, body: Settings) => {
    const field = body.SmsUrl ? 'SmsUrl' : body.SmsFallbackUrl ? 'SmsFallbackUrl' : null
    if (field !== null && !(await contentsOf(sql, call)).messages) throw refusals.contentsNotVisible(field)
    const program = programFields.find((one) => body[one]) ?? field
    if (program) assertMayRunProgram(call.account, await contentsOf(sql, call), program)
  }

  /** Returns a free number of an area code. @throws Problem 422 */
  const inAreaCode = async (account: string, area: string): Promise<string> => {
    const found = await shop.search(account, {
      country: 'US',
      type: 'local',
      prefix: area,
      place: null,
      digits: '',
      needs: { sms: false, voice: false },
      limit: 1,
    })
    return found?.[0]?.number ?? refuse(refusals.nothingInAreaCode(area))
  }

  return { numberOf, present, presentAll, prepare, checkReader, inAreaCode }
}

/** The numbers of the account. */
const ownRoutes = (parts: Services, shop: NumberShop): Endpoint[] => {
  const { db, config, changes } = parts
  const { numberOf, present, presentAll, prepare, checkReader, inAreaCode } = makeHelpers(parts, shop)
  return [
    route(c.listIncoming, async ({ account, query }) => {
      const page = pageOf(list, query)
      const q = query.PhoneNumber ?? query.FriendlyName
      const filters: NumberFilters = q === undefined ? {} : { q }
      const { rows, next } = cutPage(await pageOfNumbers(db, account.id, rangeOf(page), filters), page)
      const path = `/2010-04-01/Accounts/${printSid('AC', account.id)}/IncomingPhoneNumbers`
      const numbers = await presentAll(db, account.id, rows)
      return {
        ...pageFields(list, path, query, page, rows.length, next),
        incoming_phone_numbers: numbers,
      }
    }),

    route(c.fetchIncoming, async ({ account, params }) => present(db, await numberOf(db, account.id, params.Sid))),

    routeHotPathWithPreparation(c.createIncoming, prepare, async ({ account, key: own, body, request, tx, audit }) => {
      const { PhoneNumber: phone = '', AreaCode: area = '' } = body
      await checkReader(tx ?? db, { account, key: own, request }, body)
      if ((phone === '') === (area === '')) throw refusals.numberOrAreaCode()
      const number =
        phone === '' ? await inAreaCode(account.id, area) : (e164(phone) ?? refuse(refusals.badPhone(phone)))
      const key = request.headers['idempotency-key']
      const row = await shop.buy(tx, account.id, {
        group: null,
        number,
        name: body.FriendlyName || null,
        request: tx && typeof key === 'string' ? { key, digest: requestDigest(body, request.query) } : null,
        audit,
        by: own.id,
        limitedKeys: account.limitedKeys,
      })
      if (!row) return refuse(refusals.unknownResource(`AvailablePhoneNumbers/${number}`))
      const addresses = changedAddresses(store.noAddresses, body)
      const set = async (own: Tx): Promise<NumberRow> => {
        await store.setAddresses(own, account.id, row.id, addresses)
        const changed = await changeNumber(own, changes, account.id, row.id, (before) =>
          changedVoice(own, account.id, before, body),
        )
        return changed?.after ?? row
      }
      // A crash before this leaves a number without addresses, as one bought in the console.
      return await present(tx ?? db, await (tx ? set(tx) : db.begin(set)))
    }),

    routeWithPreparation(c.updateIncoming, prepare, async ({ params, body, tx, audit, ...call }) => {
      const { account } = call
      const found = await numberOf(tx, account.id, params.Sid)
      await store.lockNumber(tx, account.id, found.id)
      await checkReader(tx, call, body)
      const changed =
        (await changeNumber(tx, changes, account.id, found.id, async (before) => ({
          ...(body.FriendlyName ? { friendly_name: body.FriendlyName } : {}),
          ...(await changedVoice(tx, account.id, before, body)),
        }))) ?? refuse(refusals.unknownResource(`IncomingPhoneNumbers/${params.Sid}`))
      const known = (await store.addresses(tx, account.id, [found.id])).get(found.id) ?? store.noAddresses
      const next = changedAddresses(known, body)
      await store.setAddresses(tx, account.id, found.id, next)
      await audit(tx, {
        target: print('DID', found.id),
        before: { ...auditedNumber(changed.before), ...known },
        after: { ...auditedNumber(changed.after), ...next },
      })
      return await present(tx, changed.after)
    }),

    route(c.deleteIncoming, async ({ account, params, tx, audit }) => {
      const { id } = await numberOf(tx, account.id, params.Sid)
      const released = await release(tx, changes, account.id, id, 'requested', config.quarantineDays)
      if (!released) return refuse(refusals.unknownResource(`IncomingPhoneNumbers/${params.Sid}`))
      const before = { phone_number: released.number, friendly_name: released.friendly_name }
      await audit(tx, { target: print('DID', id), before })
      return {}
    }),
  ]
}

export const numberRoutes = (parts: Services): Endpoint[] => {
  const shop = makeNumberShop(parts)
  return [...ownRoutes(parts, shop), ...availableRoutes(parts, shop)]
}
