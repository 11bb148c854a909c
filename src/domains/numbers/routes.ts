import { isDeepStrictEqual } from 'node:util'
import type { FastifyReply } from 'fastify'
import type { Static } from 'typebox'
import type { Sql, Tx } from '../../platform/db/sql.ts'
import { ok, route, routeHotPath, routeWithPreparation } from '../../platform/http/endpoint.ts'
import { requestDigest } from '../../platform/http/idempotency.ts'
import { cursorsOf } from '../../platform/http/list-cursor.ts'
import { cutPage, isPaged, pageOf, refuseBeyond, requestedPage, totalFields } from '../../platform/http/paging.ts'
import { refuse } from '../../platform/http/problem.ts'
import { checkFields } from '../../platform/http/unknown-fields.ts'
import { phoneNumber } from '../../platform/http/validation.ts'
import { iso } from '../../platform/lib/clock.ts'
import { parse } from '../../platform/lib/id.ts'
import { decimal, dollars, micros } from '../../platform/lib/money.ts'
import type { Services } from '../../services.ts'
import { assertMayRunProgram } from '../applications/ops.ts'
import { contentsOf } from '../inbox/narrowing/ops.ts'
import { groupTypes } from './catalogue/catalogue-rows.ts'
import { parseCityQuery, vanityDigits } from './catalogue/city-query.ts'
import { features, smsOf } from './catalogue/features.ts'
import { freeNumbers } from './catalogue/free-numbers.ts'
import * as c from './contract.ts'
import { presentNumber } from './lifecycle/number-presenter.ts'
import * as virtualNumbers from './lifecycle/virtual-number-store.ts'
import { checkVoiceAddresses, readVoice, ringingUser } from './lifecycle/voice-change.ts'
import { maxNearbyCities } from './limits.ts'
import { missingSupplier } from './number-schemas.ts'
import { cancel, groupOf, offeredTo, release, reserve } from './ops.ts'
import * as inventory from './purchase/inventory-store.ts'
import { makePurchase } from './purchase/purchase.ts'
import { refusals } from './refusals.ts'
import { presentRequirement, requirementsIn } from './registration/requirements.ts'
import * as store from './store.ts'
import { purchasePriceOf } from './suppliers/supplier-orders.ts'
import { makeSupplierPurchase, reserveHeld } from './suppliers/supplier-purchase.ts'

const money = (numeric: string) => decimal(micros(numeric) ?? 0)
const usd = (numeric: string) => dollars(micros(numeric) ?? 0)

const presentGroup = (row: store.GroupRow, requirements: store.RequirementRow[]) => ({
  id: row.id,
  prefix: row.prefix,
  location: row.location,
  price: { setup_price: money(row.setup_price), monthly_price: money(row.monthly_price), ppm: money(row.ppm) },
  total_now: decimal(purchasePriceOf(row)),
  type: row.type,
  iso_country_code: row.iso_country_code,
  requirements: requirementsIn(row, requirements).map(presentRequirement),
  allow_number_selection: row.allow_number_selection,
  is_eligible_for_free_number: row.is_eligible_for_free_number,
  available_count: row.free,
  features: features(row),
})

const presentReservation = (row: inventory.ListedReservation) => ({
  uuid: row.id,
  number: row.number,
  did_group_id: row.group_id,
  did_type: row.type,
  iso_country_code: row.iso_country_code,
  location: row.location,
  setup_price: usd(row.setup_price),
  monthly_price: usd(row.monthly_price),
  ppm: usd(row.ppm),
  total_now: decimal((micros(row.setup_price) ?? 0) + (micros(row.monthly_price) ?? 0)),
  reservation_date: iso(row.created_at),
  reservation_end_date: iso(row.expires_at),
  created_at: iso(row.created_at),
  expires_at: iso(row.expires_at),
  needs_registration: row.needs_registration,
  supports_sms_in: smsOf(row).in,
  supports_sms_out: smsOf(row).out,
})

/** True if a search of groups names a city or a region. */
const hasPlace = ({ region_id, city_id, city_name_or_prefix }: { [name: string]: unknown }): boolean =>
  [region_id, city_id, city_name_or_prefix].some((one) => one !== undefined)

/** Returns the cities with free numbers that are nearest to a search: of its region, else of its country. */
const nearbyCities = async (db: Sql, search: store.Search) =>
  (await store.citiesWithNumbers(db, search, maxNearbyCities)).map(({ name, free, ...city }) => ({
    ...city,
    city_name: name,
    available_count: free,
  }))

/** Finds a type by its id or name. */
const typeOf = (value: string) =>
  groupTypes.find((name, i) => name === value || String(i + 1) === value) ??
  refuse(refusals.badDidType(groupTypes.join(', ')))

const zone = (name: string) => {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone
  } catch {
    throw refusals.badTimezone()
  }
}

const uuidForm = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Names the suppliers whose numbers may be missing in a response. */
const setMissingSuppliers = (reply: FastifyReply, names: readonly string[]) => {
  if (names.length > 0) reply.header(missingSupplier, names.map(encodeURIComponent).join(', '))
}

const cursors = cursorsOf(c.listVirtualNumbers)

const countryOf = async (db: Sql, iso: string) => {
  const code = iso.toUpperCase()
  return (await store.country(db, code)) ?? refuse(refusals.unknownCountry(code))
}

const numberId = (printed: string) => parse('DID', printed) ?? refuse(refusals.unknownVirtualNumber(printed))

/** Countries, places and groups of numbers on offer. */
const catalogueRoutes = (parts: Services) => {
  const { db, suppliers } = parts
  return [
    route(c.listCountries, async ({ account }) => {
      const rows = await store.countries(db, offeredTo(parts, account.id))
      return ok({ data: { countries: rows.map(({ types, ...row }) => ({ ...row, did_types: types })) } })
    }),

    route(c.listRegions, async ({ query }) => {
      const country = await countryOf(db, query.country)
      const rows = await store.regions(db, country.iso_country_code)
      return ok({ data: { regions: rows.map(({ name, ...row }) => ({ ...row, region_name: name })) } })
    }),

    route(c.listCities, async ({ account, query }) => {
      const country = await countryOf(db, query.country)
      const rows = await store.cities(db, country.iso_country_code, query.region ?? null, offeredTo(parts, account.id))
      return ok({ data: { cities: rows.map(({ name, ...row }) => ({ ...row, city_name: name })) } })
    }),

    route(c.listTypes, async () => ok({ data: { did_types: groupTypes.map((name, i) => ({ id: i + 1, name })) } })),

    route(c.listRequirements, async ({ query }) => {
      const country = await countryOf(db, query.country)
      const type = query.did_type === undefined || query.did_type === 'all' ? null : typeOf(query.did_type)
      const rows = await store.requirements(db, country.iso_country_code, type)
      return ok({ data: { requirements: rows.map(presentRequirement) } })
    }),

    route(c.listGroups, async ({ account, query, reply }) => {
      const country = await countryOf(db, query.country)
      const { region_id, city_id, city_name_or_prefix, did_type, group_id } = query
      const code = country.iso_country_code
      if (code === 'US' && !hasPlace(query) && group_id === undefined && did_type !== 'tollfree')
        throw refusals.regionRequired()
      if (group_id !== undefined) await groupOf(db, group_id, offeredTo(parts, account.id))
      const city = city_name_or_prefix === undefined ? null : parseCityQuery(city_name_or_prefix, country.prefix)
      if (city_name_or_prefix !== undefined && !city)
        return ok({ count: 0, page: pageOf(query).page, total: 0, data: { groups: [] } })
      const { page, limit, offset } = pageOf(query)
      const filter = {
        iso: code,
        region: region_id ?? null,
        city: city_id ?? null,
        type: did_type === undefined || did_type === 'all' ? null : did_type,
        id: group_id ?? null,
        cityQuery: city,
        limit: isPaged(query) ? limit : null,
        skip: isPaged(query) ? offset : 0,
        offered: offeredTo(parts, account.id),
      }
      const rows = await store.groups(db, filter)
      // A page past the end has no row that carries the total.
      const [first] = rows.length > 0 || offset === 0 ? rows : await store.groups(db, { ...filter, limit: 1, skip: 0 })
      const requirements = await store.requirements(db, code, null)
      setMissingSuppliers(reply, await suppliers.missing())
      const groups = rows.map((row) => presentGroup(row, requirements))
      const isEmpty = hasPlace(query) && groups.every(({ available_count }) => available_count === 0)
      const nearby = isEmpty && page === 0 ? { nearby: await nearbyCities(db, filter) } : {}
      return ok({ count: groups.length, page, total: first?.total ?? 0, data: { groups, ...nearby } })
    }),
  ]
}

/** Free numbers of a group, their reservation and purchase. */
const purchaseRoutes = (parts: Services) => {
  const { db, config, quotas } = parts
  const supplierPurchase = makeSupplierPurchase(parts)
  const purchase = makePurchase(parts, supplierPurchase)
  /** Runs the work in the request's own transaction, if it has one. */
  const within = <T>(tx: Tx | null, work: (tx: Tx) => Promise<T>): Promise<T> => (tx ? work(tx) : db.begin(work))

  return [
    route(c.listAvailable, async ({ account, query, reply }) => {
      const group = await groupOf(db, query.group_id, offeredTo(parts, account.id))
      if (!group.allow_number_selection) throw refusals.noNumberSelection(group.id)
      const { page, limit, offset } = pageOf(query)
      const search = query.number_contains ?? query.contains ?? ''
      const digits = vanityDigits(search)
      if (digits === '' && search !== '') throw refusals.emptyNumberSearch()
      const supplied = await supplierPurchase.available(account.id, group.id, digits)
      if (supplied) {
        setMissingSuppliers(reply, supplied.missing === null ? [] : [supplied.missing])
        // A supplier returns a random sample of numbers and has no pages.
        const some = supplied.numbers.slice(offset, offset + limit)
        const numbers = some.map((number) => ({ id: number.slice(1), number }))
        return ok({ count: numbers.length, page, total: supplied.numbers.length, data: { numbers } })
      }
      const pageRequest = requestedPage(query, query.cursor === undefined ? null : [query.cursor])
      const found = await freeNumbers(db, group, digits, query.cursor ?? null, {
        limit,
        skip: pageRequest.read.skip,
      })
      refuseBeyond(pageRequest, found.numbers)
      const numbers = found.numbers.map((number) => ({ id: number.slice(1), number }))
      const next = found.next === null ? {} : { next_cursor: found.next }
      return ok({ count: numbers.length, page, total: found.total, data: { numbers }, ...next })
    }),

    routeHotPath(c.reserveNumber, async ({ account, body, tx }) => {
      const number = body.number === undefined ? null : phoneNumber(body.number)
      const request = { group: body.group_id, number, offered: offeredTo(parts, account.id) }
      const who = { account: account.id, isKeyed: tx !== null }
      const supplierGroup = await supplierPurchase.seek(who, request, true)
      if (supplierGroup && request.number === null && !supplierGroup.selectable)
        throw refusals.notReservable(request.group)
      if (supplierGroup && !(await supplierPurchase.mayHold(account.id))) throw refusals.accountHoldsUsedUp()
      const held = supplierGroup && (await supplierPurchase.holdNumber(who, supplierGroup, request.number))
      if (held && held.reservation === null) throw refusals.supplierHoldsUsedUp()
      const minutes = config.reservationMinutes
      const keep = () =>
        within(tx, async (tx) => {
          const stored = await (held
            ? reserveHeld(tx, account.id, held, minutes)
            : reserve(tx, account.id, request, minutes))
          await quotas.check(tx, account, 'reservations', () => inventory.countReservations(tx, account.id))
          return stored
        })
      const reservation = await (held ? supplierPurchase.withHold(held, keep) : keep())
      const reservation_details = {
        uuid: reservation.id,
        number: reservation.number,
        created_at: iso(reservation.created_at),
        expires_at: iso(reservation.expires_at),
      }
      return ok({ data: { reservation_details } })
    }),

    route(c.listReservations, async ({ account }) => {
      const rows = await inventory.listReservations(db, account.id)
      return ok({ data: { reservations: rows.map(presentReservation) } })
    }),

    route(c.cancelReservation, async ({ account, params, tx }) => {
      const id = params.reservation_uuid
      if (!uuidForm.test(id)) throw refusals.unknownReservation(id)
      const ended = await cancel(tx, account.id, id.toLowerCase())
      return ok({ message: `The reservation of ${ended.number} is cancelled` })
    }),

    routeHotPath(c.purchaseNumber, async ({ account, key: own, body, request, tx, audit }) => {
      // Without a selection every reservation is bought: a mistyped selection buys nothing.
      if (body.group_id === undefined && body.number === undefined) checkFields(c.purchaseNumber.body, body)
      const key = request.headers['idempotency-key']
      const user = body.inbound_user_uuid
      const rings = user ? await ringingUser(tx ?? db, account.id, user) : null
      const { numbers, failed } = await purchase(tx, account.id, {
        group: body.group_id ?? null,
        number: body.number === undefined ? null : phoneNumber(body.number),
        offered: offeredTo(parts, account.id),
        name: body.friendly_name ?? null,
        rings,
        answers: body.requirements ?? [],
        request: tx && typeof key === 'string' ? { key, digest: requestDigest(body, request.query) } : null,
        audit,
        by: own.id,
        limitedKeys: account.limitedKeys,
      })
      return ok({ purchased: numbers.map((row) => row.number), failed, data: { numbers: numbers.map(presentNumber) } })
    }),
  ]
}

/** Returns what calls to a number do after a change. @throws the 400 or 404 Problem */
const changedVoice = async (
  tx: Tx,
  row: virtualNumbers.NumberRow,
  { voice, inbound_user_uuid: user }: Static<typeof c.changeVirtualNumber.body>,
): Promise<Pick<virtualNumbers.NumberRow, 'voice' | 'inbound_user_id'>> => {
  const rings = user ? await ringingUser(tx, row.account_id, user) : null
  if (voice) return await readVoice(tx, row.account_id, voice)
  return user === undefined
    ? { voice: row.voice, inbound_user_id: row.inbound_user_id }
    : { voice: null, inbound_user_id: rings }
}

/** The account's own numbers. */
const virtualNumberRoutes = ({ db, config, changes, outbound }: Services) => [
  route(c.listVirtualNumbers, async ({ account, query }) => {
    if (query.country !== undefined) await countryOf(db, query.country)
    const pageRequest = requestedPage(query, cursors.key(query.cursor))
    const [found, total] = await Promise.all([
      virtualNumbers.page(db, account.id, pageRequest.read, query),
      virtualNumbers.total(db, account.id, query),
    ])
    const { rows, fields } = cutPage(pageRequest, found, ({ at, id }) => cursors.write({ time: at, id }))
    return ok({ ...fields, ...totalFields(total), numbers: rows.map(presentNumber) })
  }),

  route(c.getVirtualNumber, async ({ account, params }) => {
    const printed = params.virtual_number_uuid
    const row =
      (await virtualNumbers.find(db, account.id, numberId(printed))) ?? refuse(refusals.unknownVirtualNumber(printed))
    return ok({ number: presentNumber(row) })
  }),

  routeWithPreparation(
    c.changeVirtualNumber,
    ({ body, isSandbox }) => checkVoiceAddresses(outbound.of(isSandbox), body.voice),
    async ({ params, body, tx, audit, ...call }) => {
      const { account } = call
      const printed = params.virtual_number_uuid
      const row =
        (await virtualNumbers.lock(tx, account.id, numberId(printed))) ?? refuse(refusals.unknownVirtualNumber(printed))
      const changed = await virtualNumbers.change(tx, account.id, row.id, {
        friendly_name: body.friendly_name ?? row.friendly_name,
        record_inbound: body.record_inbound ?? row.record_inbound,
        timezone: body.timezone === undefined ? row.timezone : zone(body.timezone),
        ...(await changedVoice(tx, row, body)),
      })
      const { voice } = changed
      if (voice && !isDeepStrictEqual(voice, row.voice))
        assertMayRunProgram(account, await contentsOf(tx, call), 'voice')
      await audit(tx, { before: presentNumber(row), after: presentNumber(changed) })
      await changes.invalidate(tx, 'numbers')
      return ok({ number: presentNumber(changed) })
    },
  ),

  route(c.deleteVirtualNumber, async ({ account, params, tx, audit }) => {
    const printed = params.virtual_number_uuid
    const released =
      (await release(tx, changes, account.id, numberId(printed), 'requested', config.quarantineDays)) ??
      refuse(refusals.unknownVirtualNumber(printed))
    await audit(tx, { before: { phone_number: released.number, friendly_name: released.friendly_name } })
    return ok({})
  }),
]

export const numberRoutes = (parts: Services) => [
  ...catalogueRoutes(parts),
  ...purchaseRoutes(parts),
  ...virtualNumberRoutes(parts),
]
