import { offeredTo } from '../../../domains/numbers/ops.ts'
import { keypadDigits, type NumberShop, offeredCountries } from '../../../domains/numbers/purchase/ops.ts'
import { type Endpoint, route } from '../../../platform/http/endpoint.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { fold } from '../../../platform/lib/fold.ts'
import { printSid } from '../../../platform/lib/sid.ts'
import type { Services } from '../../../services.ts'
import { maxFoundNumbers } from '../limits.ts'
import { pageFields, pageOf } from '../list-pages.ts'
import { refusals } from '../refusals.ts'
import * as c from './contract.ts'
import { presentFound } from './presenter.ts'

const searches = [
  [c.searchLocal, 'local'],
  [c.searchMobile, 'mobile'],
  [c.searchTollFree, 'tollfree'],
  [c.searchNational, 'national'],
] as const

const subresources = { local: 'Local', mobile: 'Mobile', tollfree: 'TollFree', national: 'National' } as const

type OfferedCountry = Awaited<ReturnType<typeof offeredCountries>>[number]

/** Presents a country with the types of numbers on offer. */
const presentCountry = (account: string, { iso_country_code: code, name, types }: OfferedCountry) => {
  const uri = `/2010-04-01/Accounts/${printSid('AC', account)}/AvailablePhoneNumbers/${code}`
  const of = (type: keyof typeof subresources, field: string) =>
    types.includes(type) ? { [field]: `${uri}/${subresources[type]}.json` } : {}
  return {
    country: name,
    country_code: code,
    beta: false,
    uri: `${uri}.json`,
    subresource_uris: {
      ...of('local', 'local'),
      ...of('mobile', 'mobile'),
      ...of('tollfree', 'toll_free'),
      ...of('national', 'national'),
    },
  }
}

/** Search for free numbers, and the countries of which there are some. */
export const availableRoutes = (parts: Services, shop: NumberShop): Endpoint[] => {
  const { db } = parts

  const searchRoutes = searches.map(([spec, type]) =>
    route(spec, async ({ account, params, query }) => {
      const country = params.CountryCode.toUpperCase()
      const page = pageOf(spec.id, query)
      const found = await shop.search(account.id, {
        ...{ country, type, prefix: query.AreaCode === undefined ? null : String(query.AreaCode) },
        place: query.InLocality === undefined ? null : fold(query.InLocality),
        digits: keypadDigits(query.Contains ?? ''),
        needs: { sms: query.SmsEnabled ?? false, voice: query.VoiceEnabled ?? false },
        limit: query.MmsEnabled ? 0 : Math.min(page.size, maxFoundNumbers),
      })
      if (!found) return refuse(refusals.unknownCountry(country))
      const path = `/2010-04-01/Accounts/${printSid('AC', account.id)}/AvailablePhoneNumbers/${country}/${subresources[type]}`
      return {
        ...pageFields(spec.id, path, query, page, found.length, null),
        available_phone_numbers: found.map((one) => presentFound(one, shop.featuresOfGroup(one.group))),
      }
    }),
  )

  const countryRoutes = [
    route(c.listAvailableCountries, async ({ account, query }) => {
      const rows = await offeredCountries(db, offeredTo(parts, account.id))
      const path = `/2010-04-01/Accounts/${printSid('AC', account.id)}/AvailablePhoneNumbers`
      const page = pageOf(c.listAvailableCountries.id, query)
      return {
        ...pageFields(c.listAvailableCountries.id, path, query, page, rows.length, null),
        countries: rows.map((row) => presentCountry(account.id, row)),
      }
    }),

    route(c.fetchAvailableCountry, async ({ account, params }) => {
      const code = params.CountryCode.toUpperCase()
      const rows = await offeredCountries(db, offeredTo(parts, account.id))
      const row = rows.find(({ iso_country_code }) => iso_country_code === code)
      return presentCountry(account.id, row ?? refuse(refusals.unknownCountry(code)))
    }),
  ]

  return [...searchRoutes, ...countryRoutes]
}
