import { hash } from 'node:crypto'
import type { Asked, SupplierGroup } from '../connectors/port.ts'
import type { Tx } from '../db/sql.ts'
import { type Kind, Retry } from '../jobs/kind.ts'
import type { Schedule } from '../jobs/schedule.ts'
import { fold } from '../lib/fold.ts'
import { decimal, micros } from '../lib/money.ts'
import type { Parts } from '../parts.ts'
import * as offers from './offers.ts'
import { askForSync } from './ops.ts'
import type { Supplied } from './suppliers.ts'

type Payload = { connection: string }
type GroupPage = { groups: readonly SupplierGroup[]; next: number | null }

/** Pages of a catalogue that are read at most: 200,000 groups. */
const mostPages = 2_000

const countryNames = new Intl.DisplayNames('en', { type: 'region' })

/** The same for as long as the supplier's id is. Two accounts at one supplier sell groups of their own. */
const idOf = (connection: string, { id, country, type }: SupplierGroup): string =>
  `${country}-${type}-${hash('sha256', `${connection}/${id}`).slice(0, 16)}`

/** A supplier's price with the operator's markup, rounded up to a millionth of a dollar. */
const marked = (cost: string, markup: number): string =>
  decimal(Math.ceil(((micros(cost) ?? 0) * Math.round(100 * (100 + markup))) / 10_000))

/** The offer with the fewest calls in it, and of those the cheapest: channels come from the trunk. */
const cheapest = ({ offers: all }: SupplierGroup) =>
  all.toSorted(
    (a, b) =>
      a.channels - b.channels || (micros(a.monthly) ?? 0) - (micros(b.monthly) ?? 0) || (a.sku < b.sku ? -1 : 1),
  )[0]

/** A page of groups, with our ids of their places. */
const placed = async (tx: Tx, { id, markup, ppm }: Supplied, groups: readonly SupplierGroup[]) => {
  const known = await offers.regions(tx, [...new Set(groups.map(({ country }) => country))])
  const regionOf = ({ country, region }: SupplierGroup) =>
    region &&
    (known.find(({ iso, folded }) => iso === country && folded === fold(region.name)) ??
      known.find(({ code }) => region.code !== null && code === `${country}-${region.code}`))
  const wanted = groups.flatMap((group) => {
    const { city: name, country: iso } = group
    const folded = fold(name ?? '')
    return name && folded ? [{ iso, name, folded, regionId: regionOf(group)?.id ?? null }] : []
  })
  const unique = [...new Map(wanted.map((city) => [`${city.iso} ${city.folded}`, city])).values()]
  const cities = unique.length > 0 ? await offers.cities(tx, unique) : []
  return groups.flatMap((group): offers.Offer[] => {
    const offer = cheapest(group)
    if (!offer) return []
    const city = cities.find(({ iso, folded }) => iso === group.country && folded === fold(group.city ?? ''))
    const words = new Set([fold(group.area), fold(group.city ?? '')])
    return [
      {
        id: idOf(id, group),
        external: group.id,
        iso: group.country,
        callingCode: group.callingCode,
        country: countryNames.of(group.country) ?? group.country,
        type: group.type,
        prefix: group.prefix,
        location: group.area,
        folded: [...words].filter(Boolean).join(' '),
        regionId: regionOf(group)?.id ?? null,
        cityId: city?.id ?? null,
        setup: marked(offer.setup, markup),
        monthly: marked(offer.monthly, markup),
        setupCost: offer.setup,
        monthlyCost: offer.monthly,
        ppm,
        selectable: group.selectable,
        free: group.available,
        sku: offer.sku,
        features: group.features,
        registration: group.registration,
      },
    ]
  })
}

/** Reads a whole catalogue into ours, a page to a transaction. Null when all went well, else why not. */
const read = async ({ db }: Parts, found: Supplied, signal: AbortSignal): Promise<string | null> => {
  const { now } = await db.one<{ now: Date }>`select app_now() as now`
  let page: number | null = 1
  for (let pages = 0; page !== null; pages++) {
    if (pages >= mostPages) return `the catalogue has more than ${mostPages} pages`
    signal.throwIfAborted()
    const asked: Asked<GroupPage> = await found.supplier.groups(page)
    if (asked.outcome !== 'done') return asked.reason
    const { groups, next } = asked.value
    await db.begin(async (tx) => offers.put(tx, found.id, await placed(tx, found, groups), now))
    page = next
  }
  await db.begin((tx) => offers.withdraw(tx, found.id, now))
  return null
}

/** Reads the catalogues of suppliers, so that what they sell is searched without asking them. */
export const syncJob = (parts: Parts): Kind<Payload, boolean> => {
  const note = (connection: string, error: string | null) =>
    parts.db.begin(async (tx) => {
      await offers.note(tx, connection, error)
      await parts.changes.announce(tx, 'suppliers')
    })
  return {
    kind: 'numbers.sync',
    concurrency: 2,
    leaseSeconds: 30,
    maxAttempts: 20,
    run: async ({ payload: { connection }, attempt }, signal) => {
      const found = await parts.suppliers.fresh(connection)
      if (!found) return false
      const error = await read(parts, found, signal)
      await note(connection, error)
      if (error !== null) throw new Retry(error, Math.min(600, 5 * 2 ** attempt))
      parts.log.info({ connection: found.name }, 'the catalogue of a supplier was read')
      return true
    },
    // What is not connected sells nothing.
    settle: async (tx, done) => {
      for (const { job, result } of done) {
        if (result) continue
        await offers.withdraw(tx, job.payload.connection, null)
        await offers.forget(tx, job.payload.connection)
      }
    },
  }
}

/** Prices and stock of suppliers change by the hour. */
export const syncSchedule = ({ suppliers }: Parts): Schedule => ({
  name: 'read-suppliers',
  every: 6 * 3600,
  run: async (tx) => {
    for (const { id } of await suppliers.all()) await askForSync(tx, id)
  },
})
