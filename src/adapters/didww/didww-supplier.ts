import type {
  NumberSupplier,
  ServiceResult,
  SupplierDelivery,
  SupplierGroup,
  SupplierNumber,
  SupplierOrder,
} from '../../ports/supplier.ts'
import { isSigned } from './codec/signature.ts'
import { type ApiRequest, type DidwwClient, makeDidwwClient } from './didww-client.ts'
import { FormatError, isTrue, type JsonApiDocument, type Resource, required, text } from './json-api.ts'
import { groupOf } from './number-groups.ts'
import type { DidwwSettings } from './settings.ts'

/** DIDWW's largest page. */
const pageSize = '100'

const states = ['pending', 'completed', 'canceled'] as const

const orderOf = ({ id, attributes }: Resource): SupplierOrder => {
  // Older versions capitalise it.
  const status = (text(attributes, 'status') ?? '').toLowerCase()
  return { id, state: required(states.find((state) => state === status) ?? null, 'a known status') }
}

const e164 = (resource: Resource): string => {
  const digits = required(text(resource.attributes, 'number'), 'number')
  if (!/^[1-9]\d{2,17}$/.test(digits)) throw new FormatError('a number has no digits')
  return `+${digits}`
}

const numberOf = (resource: Resource): SupplierNumber => ({
  id: resource.id,
  group: resource.related('did_group')[0]?.id ?? null,
  number: e164(resource),
})

const deliveryOf = (resource: Resource): SupplierDelivery => ({
  id: resource.id,
  number: e164(resource),
  awaitsRegistration: isTrue(resource.attributes, 'awaiting_registration'),
})

const reservationOf = ({ id, attributes }: Resource) => {
  const until = Date.parse(text(attributes, 'expires_at') ?? text(attributes, 'expire_at') ?? '')
  return { id, until: required(Number.isFinite(until) ? until : null, 'expires_at') }
}

/**
 * Returns the order with our reference. A list of other orders is no answer: the filter was ignored, and ours may be on
 * another page.
 * @throws FormatError
 */
const findByReference = (data: readonly Resource[], reference: string): SupplierOrder | null => {
  if (data.length === 0) return null
  const ours = data.find(({ attributes }) => text(attributes, 'external_reference_id') === reference)
  return orderOf(required(ours ?? null, 'the order with our reference'))
}

const first = (document: JsonApiDocument): Resource => required(document.data[0] ?? null, 'data')

const makeRequests = (client: DidwwClient) => {
  /** Requests and parses; an unreadable answer counts as a lost one. */
  const request = async <T>(call: ApiRequest, read: (document: JsonApiDocument) => T): Promise<ServiceResult<T>> => {
    const result = await client.send(call)
    if (result.outcome !== 'done') return result
    try {
      return { outcome: 'done', value: read(required(result.value, 'the body')) }
    } catch (error) {
      if (!(error instanceof FormatError)) throw error
      const isRead = (call.method ?? 'GET') === 'GET'
      return isRead
        ? { outcome: 'later', seconds: 60, reason: error.message }
        : { outcome: 'unknown', reason: error.message }
    }
  }

  /** Deletes something; one that no longer exists counts as success. */
  const remove = async (call: ApiRequest): Promise<ServiceResult<null>> => {
    const result = await client.send({ ...call, isDeletion: true })
    return result.outcome === 'done' ? { outcome: 'done', value: null } : result
  }

  return { request, remove }
}

/** Returns the ids of countries, joined by commas; empty for no countries. */
const findCountries = async (
  { request }: ReturnType<typeof makeRequests>,
  isoCodes: readonly string[],
): Promise<ServiceResult<string>> => {
  if (isoCodes.length === 0) return { outcome: 'done', value: '' }
  const query = { 'filter[iso]': isoCodes.join(','), 'page[size]': pageSize }
  const result = await request({ path: '/countries', query }, ({ data }) => data)
  if (result.outcome !== 'done') return result
  const known = new Map(result.value.map(({ id, attributes }) => [text(attributes, 'iso'), id]))
  const unknown = isoCodes.filter((iso) => !known.has(iso))
  // An empty filter would offer the whole catalogue.
  if (unknown.length > 0) return { outcome: 'refused', reason: `the supplier has no country ${unknown.join(', ')}` }
  return { outcome: 'done', value: isoCodes.map((iso) => known.get(iso)).join(',') }
}

/** Supplies numbers of DIDWW over its API 3. @see settings.ts for the version */
export const connectDidww = (settings: DidwwSettings): NumberSupplier => {
  const client = makeDidwwClient(settings)
  const requests = makeRequests(client)
  const { request, remove } = requests
  /** Ids of the offered countries; known after the first page. */
  let countries: string | null = null

  return {
    groups: async (page) => {
      if (page === 1 || countries === null) {
        const found = await findCountries(requests, settings.countries ?? [])
        if (found.outcome !== 'done') return found
        countries = found.value
      }
      const query = {
        include: 'country,region,city,did_group_type,stock_keeping_units,address_requirement',
        'page[number]': String(page),
        'page[size]': pageSize,
        ...(countries ? { 'filter[country.id]': countries } : {}),
      }
      return request({ path: '/did_groups', query }, ({ data, hasNext }) => ({
        groups: data.map(groupOf).filter((group): group is SupplierGroup => group !== null),
        next: hasNext ? page + 1 : null,
      }))
    },

    available: (group, digits) => {
      const query = {
        include: 'did_group',
        ...(group ? { 'filter[did_group.id]': group } : {}),
        ...(digits ? { 'filter[number_contains]': digits } : {}),
      }
      return request({ path: '/available_dids', query, isInteractive: true }, ({ data }) => data.map(numberOf))
    },

    reserve: (number, ours) => {
      const relationships = { available_did: { data: { type: 'available_dids', id: number } } }
      const data = { type: 'did_reservations', attributes: { description: ours }, relationships }
      return request({ method: 'POST', path: '/did_reservations', body: { data }, isInteractive: true }, (answer) =>
        reservationOf(first(answer)),
      )
    },

    reservation: (ours) =>
      request({ path: '/did_reservations', query: { 'filter[description]': ours }, isInteractive: true }, ({ data }) =>
        data[0] && text(data[0].attributes, 'description') === ours ? reservationOf(data[0]) : null,
      ),

    cancelReservation: (id) => remove({ method: 'DELETE', path: `/did_reservations/${encodeURIComponent(id)}` }),

    order: ({ reference, sku, item, callback }) => {
      const chosen =
        item === 'any'
          ? { qty: 1 }
          : 'number' in item
            ? { available_did_id: item.number }
            : { did_reservation_id: item.reservation }
      const attributes = {
        // The default is true: an order for an exhausted group would wait for months.
        allow_back_ordering: false,
        external_reference_id: reference,
        ...(callback ? { callback_url: callback, callback_method: 'post' } : {}),
        items: [{ type: 'did_order_items', attributes: { sku_id: sku, ...chosen } }],
      }
      const data = { type: 'orders', attributes }
      return request({ method: 'POST', path: '/orders', body: { data } }, (answer) => orderOf(first(answer)))
    },

    findOrder: (reference) =>
      request({ path: '/orders', query: { 'filter[external_reference_id]': reference } }, ({ data }) =>
        findByReference(data, reference),
      ),

    orderState: (id) => request({ path: `/orders/${encodeURIComponent(id)}` }, (answer) => orderOf(first(answer))),

    deliveredNumbers: (order) =>
      request({ path: '/dids', query: { 'filter[order.id]': order } }, ({ data }) => data.map(deliveryOf)),

    stopRenewal: (id) => {
      const data = { id, type: 'dids', attributes: { billing_cycles_count: 0 } }
      return remove({ method: 'PATCH', path: `/dids/${encodeURIComponent(id)}`, body: { data } })
    },

    check: () =>
      request({ path: '/balance' }, (answer) => {
        const { attributes } = first(answer)
        return `balance USD ${required(text(attributes, 'total_balance'), 'total_balance')}`
      }),

    isGenuine: (url, parameters, signature) =>
      settings.callback_secret !== undefined && isSigned(settings.callback_secret, url, parameters, signature),

    state: client.state,
  }
}
