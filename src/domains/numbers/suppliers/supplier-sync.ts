import { hash } from 'node:crypto'
import type { Tx } from '../../../platform/db/sql.ts'
import { type JobKind, Retry } from '../../../platform/jobs/job-kind.ts'
import type { Schedule } from '../../../platform/jobs/schedule.ts'
import { fold } from '../../../platform/lib/fold.ts'
import { decimal, micros } from '../../../platform/lib/money.ts'
import type { ServiceResult, SupplierGroup } from '../../../ports/supplier.ts'
import type { Services } from '../../../services.ts'
import { maxCataloguePages } from '../limits.ts'
import { requestSync } from '../ops.ts'
import * as offers from './supplier-offer-store.ts'
import type { ConnectedSupplier } from './supplier-registry.ts'

type SyncPayload = { connection: string }
type GroupPage = { groups: readonly SupplierGroup[]; next: number | null }

let countryNames: Intl.DisplayNames | undefined

/** Returns the English name of an ISO 3166-1 country, or the code if it has none. */
const countryName = (iso: string): string => {
  countryNames ??= new Intl.DisplayNames('en', { type: 'region' })
  return countryNames.of(iso) ?? iso
}

/** Stable while the supplier's id is. Two accounts at one supplier sell separate groups. */
const idOf = (connection: string, { id, country, type }: SupplierGroup): string =>
  `${country}-${type}-${hash('sha256', `${connection}/${id}`).slice(0, 16)}`

/** Returns a supplier's price with the operator's markup, rounded up to a millionth of a dollar. */
const withMarkup = (cost: string, markup: number): string =>
  decimal(Math.ceil(((micros(cost) ?? 0) * Math.round(100 * (100 + markup))) / 10_000))

/** Returns the offer with the fewest channels, and of those the cheapest: the trunk supplies channels. */
const cheapestOffer = ({ offers: all }: SupplierGroup) =>
  all.toSorted(
    (a, b) =>
      a.channels - b.channels || (micros(a.monthly) ?? 0) - (micros(b.monthly) ?? 0) || (a.sku < b.sku ? -1 : 1),
  )[0]

/** Resolves the places of a page of groups to our ids. */
const resolvePlaces = async (tx: Tx, { id, markup, ppm }: ConnectedSupplier, groups: readonly SupplierGroup[]) => {
  const known = await offers.regions(tx, [...new Set(groups.map(({ country }) => country))])
  const regionOf = ({ country, region }: SupplierGroup) =>
    region &&
    (known.find(({ iso, folded }) => iso === country && folded === fold(region.name)) ??
      known.find(({ code }) => region.code !== null && code === `${country}-${region.code}`))
  const offered = groups.flatMap((group) => {
    const { city: name, country: iso } = group
    const folded = fold(name ?? '')
    return name && folded ? [{ iso, name, folded, regionId: regionOf(group)?.id ?? null }] : []
  })
  const unique = [...new Map(offered.map((city) => [`${city.iso} ${city.folded}`, city])).values()]
  const cities = unique.length > 0 ? await offers.ensureCities(tx, unique) : []
  return groups.flatMap((group): offers.SupplierOffer[] => {
    const offer = cheapestOffer(group)
    if (!offer) return []
    const city = cities.find(({ iso, folded }) => iso === group.country && folded === fold(group.city ?? ''))
    const words = new Set([fold(group.area), fold(group.city ?? '')])
    return [
      {
        id: idOf(id, group),
        external: group.id,
        iso: group.country,
        callingCode: group.callingCode,
        country: countryName(group.country),
        type: group.type,
        prefix: group.prefix,
        location: group.area,
        folded: [...words].filter(Boolean).join(' '),
        regionId: regionOf(group)?.id ?? null,
        cityId: city?.id ?? null,
        setup: withMarkup(offer.setup, markup),
        monthly: withMarkup(offer.monthly, markup),
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

/** Reads a whole catalogue, one transaction per page. Returns null on success, else the reason of the failure. */
const syncCatalogue = async (
  { db }: Services,
  found: ConnectedSupplier,
  signal: AbortSignal,
): Promise<string | null> => {
  const { now } = await db.one<{ now: Date }>`select app_now() as now`
  let page: number | null = 1
  for (let pages = 0; page !== null; pages++) {
    if (pages >= maxCataloguePages) return `the catalogue has more than ${maxCataloguePages} pages`
    signal.throwIfAborted()
    const result: ServiceResult<GroupPage> = await found.supplier.groups(page)
    if (result.outcome !== 'done') return result.reason
    const { groups, next } = result.value
    await db.begin(async (tx) => offers.upsertOffers(tx, found.id, await resolvePlaces(tx, found, groups), now))
    page = next
  }
  await db.begin((tx) => offers.withdrawOffers(tx, found.id, now))
  return null
}

/** Synchronises the catalogues of suppliers, so that searches need not query them. */
export const syncJob = (parts: Services): JobKind<SyncPayload, boolean> => {
  const note = (connection: string, error: string | null) =>
    parts.db.begin(async (tx) => {
      await offers.recordSync(tx, connection, error)
      await parts.changes.invalidate(tx, 'suppliers')
    })
  return {
    kind: 'numbers.sync',
    concurrency: 2,
    leaseSeconds: 30,
    maxAttempts: 20,
    run: async ({ payload: { connection }, attempt }, signal) => {
      const found = await parts.suppliers.reload(connection)
      if (!found) return false
      const error = await syncCatalogue(parts, found, signal)
      await note(connection, error)
      if (error !== null) throw new Retry(error, Math.min(600, 5 * 2 ** attempt))
      parts.log.info({ connection: found.name }, 'numbers: supplier catalogue read')
      return true
    },
    // A disconnected supplier sells nothing.
    onComplete: async (tx, done) => {
      for (const { job, result } of done) {
        if (result) continue
        await offers.withdrawOffers(tx, job.payload.connection, null)
        await offers.forgetSync(tx, job.payload.connection)
      }
    },
  }
}

/** Prices and stock of suppliers change by the hour. */
export const syncSchedule = ({ suppliers }: Services): Schedule => ({
  name: 'read-suppliers',
  every: 6 * 3600,
  run: async (tx) => {
    for (const { id } of await suppliers.all()) await requestSync(tx, id)
  },
})
