import { randomUUID } from 'node:crypto'
import type { Reference, Resource, Store } from './resources.ts'

/** Initial stock: real area codes, realistic prices, stable numbers. */

const types = ['Global', 'Local', 'Mobile', 'National', 'Shared Cost', 'Toll-free']

type Area = {
  country: string
  type: string
  prefix: string
  area: string
  region?: string
  city?: string
  numbers: number
  /** Digits of a national number. */
  length: number
  selectable: boolean
  registration?: string
  monthly: string
}

const areas: Area[] = [
  {
    country: 'GB',
    type: 'Local',
    prefix: '20',
    area: 'London',
    region: 'England',
    city: 'London',
    numbers: 40,
    length: 10,
    selectable: true,
    monthly: '0.80',
  },
  {
    country: 'GB',
    type: 'Local',
    prefix: '161',
    area: 'Manchester',
    region: 'England',
    city: 'Manchester',
    numbers: 25,
    length: 10,
    selectable: true,
    monthly: '0.80',
  },
  {
    country: 'GB',
    type: 'National',
    prefix: '330',
    area: 'National',
    numbers: 12,
    length: 10,
    selectable: false,
    monthly: '1.20',
  },
  {
    country: 'US',
    type: 'Local',
    prefix: '864',
    area: 'Inman',
    region: 'South Carolina',
    city: 'Inman',
    numbers: 20,
    length: 10,
    selectable: true,
    monthly: '0.19',
  },
  {
    country: 'US',
    type: 'Toll-free',
    prefix: '833',
    area: 'Toll-free',
    numbers: 8,
    length: 10,
    selectable: false,
    monthly: '1.00',
  },
  {
    country: 'DE',
    type: 'Local',
    prefix: '241',
    area: 'Aachen',
    city: 'Aachen',
    numbers: 10,
    length: 10,
    selectable: false,
    monthly: '0.80',
    registration: 'Address in the area of the number, with proof.',
  },
]

const countries: Record<string, [name: string, prefix: string]> = {
  GB: ['United Kingdom', '44'],
  US: ['United States', '1'],
  DE: ['Germany', '49'],
}

const regionCodes: Record<string, string> = { England: 'ENG', 'South Carolina': 'SC' }

const reference = ({ type, id }: Resource): Reference => ({ type, id })

/** Fills an empty store with the stock. */
export const seedStore = (store: Store): void => {
  const add = (type: string, attributes: Resource['attributes'], relations: Resource['relations'] = {}) =>
    store.put({ id: randomUUID(), type, attributes, relations, meta: null })
  const named = (type: string, name: string, make: () => Resource) =>
    store.all(type).find(({ attributes }) => attributes.name === name) ?? make()

  add('balances', { total_balance: '60.00', credit: '10.00', balance: '50.00' })
  for (const name of types) add('did_group_types', { name })
  for (const [iso, [name, prefix]] of Object.entries(countries)) add('countries', { name, prefix, iso })
  for (const one of areas) {
    const [name, callingCode] = countries[one.country] ?? ['', '']
    const country = named('countries', name, () => add('countries', { name, prefix: callingCode, iso: one.country }))
    const { region: regionName, city: cityName } = one
    const region = regionName
      ? named('regions', regionName, () =>
          add('regions', { name: regionName, iso: regionCodes[regionName] ?? null }, { country: reference(country) }),
        )
      : null
    const city = cityName
      ? named('cities', cityName, () =>
          add('cities', { name: cityName }, { country: reference(country), region: region && reference(region) }),
        )
      : null
    const kind = named('did_group_types', one.type, () => add('did_group_types', { name: one.type }))
    const requirement = one.registration
      ? add('address_requirements', { identity_type: 'any', restriction_message: one.registration })
      : null
    const skus = [0, 2].map((channels) =>
      add('stock_keeping_units', {
        setup_price: '0.40',
        monthly_price: channels === 0 ? one.monthly : '4.80',
        channels_included_count: channels,
      }),
    )
    const group = add(
      'did_groups',
      {
        prefix: one.prefix,
        features: ['voice_in', 'sms_in'],
        is_metered: false,
        area_name: one.area,
        allow_additional_channels: true,
        service_restrictions: null,
      },
      {
        country: reference(country),
        region: region && reference(region),
        city: city && reference(city),
        did_group_type: reference(kind),
        stock_keeping_units: skus.map(reference),
        address_requirement: requirement && reference(requirement),
      },
    )
    group.meta = { available_dids_enabled: one.selectable, needs_registration: one.registration !== undefined }
    for (let i = 0; i < one.numbers; i++) {
      const rest = String(1_000_003 + i * 7919).slice(-(one.length - one.prefix.length))
      const number = callingCode + one.prefix + rest.padStart(one.length - one.prefix.length, '5')
      add('available_dids', { number }, { did_group: reference(group), nanpa_prefix: null })
    }
  }
}
