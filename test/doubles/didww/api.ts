import { ApiError, type Ordering } from './ordering.ts'
import { type Fields, fieldsOf, type Resource, type Store, write } from './resources.ts'

export type Deps = { store: Store; trade: Ordering; base: string }

export type ApiResponse = { status: number; body: Fields | null }

export const version = '2026-04-16'

const pageSizes = { standard: 50, most: 100 }
/** Maximum numbers shown at a time, chosen at random. */
const maxShownNumbers = 10

type Filter = (store: Store, resource: Resource, value: string) => boolean

const attribute =
  (name: string): Filter =>
  (_store, { attributes }, value) =>
    value.split(',').includes(String(attributes[name] ?? ''))

const related =
  (...path: string[]): Filter =>
  (store, resource, value) => {
    let here: Resource | null = resource
    for (const name of path) here = here && store.one(here, name)
    return here !== null && value.split(',').includes(here.id)
  }

const contains: Filter = (_store, { attributes }, value) => String(attributes.number).includes(value)
const id: Filter = (_store, resource, value) => value.split(',').includes(resource.id)

/** Resource types with their filters. */
const collections: Record<string, Record<string, Filter>> = {
  countries: { id, iso: attribute('iso'), name: attribute('name') },
  regions: { id, 'country.id': related('country') },
  cities: { id, 'country.id': related('country'), 'region.id': related('region') },
  did_group_types: { id, name: attribute('name') },
  did_groups: {
    id,
    prefix: attribute('prefix'),
    area_name: attribute('area_name'),
    'country.id': related('country'),
    'region.id': related('region'),
    'city.id': related('city'),
    'did_group_type.id': related('did_group_type'),
    is_available: (_store, { meta }, value) => String(meta?.is_available) === value,
  },
  available_dids: {
    id,
    number_contains: contains,
    'did_group.id': related('did_group'),
    'country.id': related('did_group', 'country'),
  },
  did_reservations: { id, description: attribute('description') },
  orders: {
    id,
    status: attribute('status'),
    reference: attribute('reference'),
    external_reference_id: attribute('external_reference_id'),
  },
  dids: {
    id,
    number: attribute('number'),
    'order.id': related('order'),
    'did_group.id': related('did_group'),
    terminated: (_store, { attributes }, value) => String(attributes.terminated) === value,
  },
}

/** Adds the current count of available numbers to a group's meta. */
const current = ({ store, trade }: Deps, resource: Resource): Resource => {
  if (resource.type !== 'did_groups' || resource.meta === null) return resource
  const free = store.all('available_dids').length > 0 ? trade.free(resource.id).length : null
  if (free === null) return resource
  return { ...resource, meta: { ...resource.meta, is_available: free > 0, total_count: free } }
}

const rows = (parts: Deps, type: string): Resource[] => {
  const { store, trade } = parts
  if (type === 'did_reservations') return trade.reservations()
  if (type === 'available_dids')
    return trade.free().filter((one) => store.one(one, 'did_group')?.meta?.available_dids_enabled !== false)
  return store.all(type).map((one) => current(parts, one))
}

/** Builds a document with the resources that `include` names: dotted paths, including each step. */
const documentOf = (parts: Deps, found: Resource | Resource[], query: URLSearchParams): Fields => {
  const paths = (query.get('include') ?? '').split(',').filter(Boolean)
  const list = Array.isArray(found) ? found : [found]
  const included = new Map<string, Fields>()
  const along = (from: readonly Resource[], path: readonly string[]) => {
    const [name, ...rest] = path
    if (name === undefined) return
    const next = from.flatMap((one) => parts.store.many(one, name))
    const deeper = paths.filter((one) => one.includes(`${name}.`)).map((one) => one.split(`${name}.`)[1] ?? '')
    for (const one of next)
      included.set(
        one.type + one.id,
        write(
          one,
          parts.base,
          deeper.map((one) => one.split('.')[0] ?? ''),
          false,
        ),
      )
    along(next, rest)
  }
  for (const path of paths) along(list, path.split('.'))
  const firsts = paths.map((path) => path.split('.')[0] ?? '')
  const data = list.map((one) => write(one, parts.base, firsts, true))
  return {
    data: Array.isArray(found) ? data : data[0],
    ...(included.size > 0 ? { included: [...included.values()] } : {}),
    meta: { api_version: version },
  }
}

const collection = (parts: Deps, type: string, query: URLSearchParams): Fields => {
  const filters = [...query].flatMap(([name, value]): [string, string][] => {
    const filter = /^filter\[(.+)\]$/.exec(name)?.[1]
    return filter === undefined ? [] : [[filter, value]]
  })
  const tests = filters.map(([name, value]) => {
    const known = Object.hasOwn(collections, type) ? collections[type] : undefined
    const test = known && Object.hasOwn(known, name) ? known[name] : undefined
    if (!test) throw new ApiError(400, `Filter not allowed: ${name}`, '102')
    return (one: Resource) => test(parts.store, one, value)
  })
  const all = rows(parts, type).filter((one) => tests.every((test) => test(one)))
  if (type === 'available_dids') {
    const some = all.sort(() => Math.random() - 0.5).slice(0, maxShownNumbers)
    return { ...documentOf(parts, some, query), meta: { total_count: all.length, api_version: version } }
  }
  const size = Number(query.get('page[size]') ?? pageSizes.standard)
  const number = Number(query.get('page[number]') ?? 1)
  if (!(size >= 1 && size <= pageSizes.most) || !(number >= 1)) throw new ApiError(400, 'Page is invalid', '118')
  const last = Math.max(1, Math.ceil(all.length / size))
  const link = (page: number) => {
    const changed = new URLSearchParams(query)
    changed.set('page[number]', String(page))
    changed.set('page[size]', String(size))
    return `${parts.base}/${type}?${changed}`
  }
  const document = documentOf(parts, all.slice((number - 1) * size, number * size), query)
  const counts = type === 'did_reservations' ? { available_count: 10 - all.length } : {}
  return {
    ...document,
    meta: { total_records: all.length, ...counts, api_version: version },
    links: {
      first: link(1),
      ...(number > 1 ? { prev: link(number - 1) } : {}),
      ...(number < last ? { next: link(number + 1) } : {}),
      last: link(last),
    },
  }
}

const change = (did: Resource, attributes: Fields): void => {
  const { billing_cycles_count: cycles, terminated, description } = attributes
  if (
    cycles !== undefined &&
    cycles !== null &&
    !(Number.isInteger(cycles) && Number(cycles) >= 0 && Number(cycles) <= 999)
  )
    throw new ApiError(422, 'Billing cycles count is invalid')
  if (cycles !== undefined) did.attributes.billing_cycles_count = cycles
  if (description !== undefined) did.attributes.description = description
  for (const name of ['capacity_limit', 'dedicated_channels_count'])
    if (attributes[name] !== undefined) did.attributes[name] = attributes[name]
  if (terminated === true) Object.assign(did.attributes, { terminated: true, blocked: true, billing_cycles_count: 0 })
  if (terminated === false) Object.assign(did.attributes, { terminated: false, blocked: false })
}

/** Responds to a request like the supplier. @throws ApiError */
export const respond = (
  parts: Deps,
  method: string,
  path: string,
  query: URLSearchParams,
  body: unknown,
): ApiResponse => {
  const [, type = '', key, more] = path.split('/')
  const { store, trade } = parts
  if (more !== undefined) throw new ApiError(404, 'Not found', '404')
  if (type === 'balance' && method === 'GET') {
    const [balance] = store.all('balances')
    if (balance) return { status: 200, body: documentOf(parts, balance, query) }
  }
  if (!Object.hasOwn(collections, type)) throw new ApiError(404, 'Not found', '404')
  if (key === undefined && method === 'GET') return { status: 200, body: collection(parts, type, query) }
  const data = fieldsOf(fieldsOf(body).data)
  const attributes = fieldsOf(data.attributes)
  if (key === undefined && method === 'POST') {
    if (data.type !== type) throw new ApiError(409, 'Type does not match', '109')
    if (type === 'orders') return { status: 201, body: documentOf(parts, trade.order(attributes), query) }
    if (type === 'did_reservations') {
      const number = fieldsOf(fieldsOf(fieldsOf(data.relationships).available_did).data).id
      return { status: 201, body: documentOf(parts, trade.reserve(String(number), attributes), query) }
    }
  }
  const found = key === undefined ? null : rows(parts, type).find((one) => one.id === key)
  if (!found) throw new ApiError(404, 'Record not found', '404')
  if (method === 'GET') return { status: 200, body: documentOf(parts, found, query) }
  if (method === 'PATCH' && type === 'dids') {
    if (data.id !== key) throw new ApiError(400, 'Id does not match', '116')
    change(found, attributes)
    return { status: 200, body: documentOf(parts, found, query) }
  }
  if (method === 'DELETE' && type === 'did_reservations') store.remove(found)
  else if (method === 'DELETE' && type === 'orders') trade.cancel(found)
  else throw new ApiError(405, 'Method not allowed', '405')
  return { status: 204, body: null }
}
