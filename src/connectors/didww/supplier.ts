import type { Asked, NumberSupplier, SupplierDelivery, SupplierGroup, SupplierNumber, SupplierOrder } from '../port.ts'
import { type Call, makeClient } from './client.ts'
import { isSigned } from './codec/signature.ts'
import { type Document, FormatError, isTrue, type Resource, text, wanted } from './document.ts'
import { groupOf } from './groups.ts'
import type { DidwwSettings } from './settings.ts'

/** The most that DIDWW gives at a time. */
const pageSize = '100'

const states = ['pending', 'completed', 'canceled'] as const

const orderOf = ({ id, attributes }: Resource): SupplierOrder => {
  // Older versions write it with a capital.
  const status = (text(attributes, 'status') ?? '').toLowerCase()
  return { id, state: wanted(states.find((state) => state === status) ?? null, 'a known status') }
}

const e164 = (resource: Resource): string => {
  const digits = wanted(text(resource.attributes, 'number'), 'number')
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
  return { id, until: wanted(Number.isFinite(until) ? until : null, 'expires_at') }
}

/**
 * The order with our reference. A list of others is no answer: the filter was not heeded, and ours may be on another page.
 * @throws FormatError
 */
const ofReference = (data: readonly Resource[], reference: string): SupplierOrder | null => {
  if (data.length === 0) return null
  const ours = data.find(({ attributes }) => text(attributes, 'external_reference_id') === reference)
  return orderOf(wanted(ours ?? null, 'the order with our reference'))
}

const first = (document: Document): Resource => wanted(document.data[0] ?? null, 'data')

/** Numbers of DIDWW over its API 3. @see settings.ts for the version */
export const connectDidww = (settings: DidwwSettings): NumberSupplier => {
  const client = makeClient(settings)
  /** Ids of the countries that are offered; known after the first page. */
  let countries: string | null = null

  /** Asks, and reads the answer; one that cannot be read says as little as one that was lost. */
  const ask = async <T>(call: Call, read: (document: Document) => T): Promise<Asked<T>> => {
    const asked = await client.ask(call)
    if (asked.outcome !== 'done') return asked
    try {
      return { outcome: 'done', value: read(wanted(asked.value, 'the body')) }
    } catch (error) {
      if (!(error instanceof FormatError)) throw error
      const isRead = (call.method ?? 'GET') === 'GET'
      return isRead
        ? { outcome: 'later', seconds: 60, reason: error.message }
        : { outcome: 'unknown', reason: error.message }
    }
  }

  /** Ends something; that it is gone already is as good. */
  const drop = async (call: Call): Promise<Asked<null>> => {
    const asked = await client.ask({ ...call, isEnd: true })
    return asked.outcome === 'done' ? { outcome: 'done', value: null } : asked
  }

  const findCountries = async (): Promise<Asked<string>> => {
    const { countries: wantedCountries = [] } = settings
    if (wantedCountries.length === 0) return { outcome: 'done', value: '' }
    const query = { 'filter[iso]': wantedCountries.join(','), 'page[size]': pageSize }
    const asked = await ask({ path: '/countries', query }, ({ data }) => data)
    if (asked.outcome !== 'done') return asked
    const known = new Map(asked.value.map(({ id, attributes }) => [text(attributes, 'iso'), id]))
    const unknown = wantedCountries.filter((iso) => !known.has(iso))
    // An empty filter would offer the whole catalogue.
    if (unknown.length > 0) return { outcome: 'refused', reason: `there is no country ${unknown.join(', ')} there` }
    return { outcome: 'done', value: wantedCountries.map((iso) => known.get(iso)).join(',') }
  }

  return {
    groups: async (page) => {
      if (page === 1 || countries === null) {
        const found = await findCountries()
        if (found.outcome !== 'done') return found
        countries = found.value
      }
      const query = {
        include: 'country,region,city,did_group_type,stock_keeping_units,address_requirement',
        'page[number]': String(page),
        'page[size]': pageSize,
        ...(countries ? { 'filter[country.id]': countries } : {}),
      }
      return ask({ path: '/did_groups', query }, ({ data, hasNext }) => ({
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
      return ask({ path: '/available_dids', query, isHasty: true }, ({ data }) => data.map(numberOf))
    },

    reserve: (number, ours) => {
      const relationships = { available_did: { data: { type: 'available_dids', id: number } } }
      const data = { type: 'did_reservations', attributes: { description: ours }, relationships }
      return ask({ method: 'POST', path: '/did_reservations', body: { data }, isHasty: true }, (answer) =>
        reservationOf(first(answer)),
      )
    },

    reservation: (ours) =>
      ask({ path: '/did_reservations', query: { 'filter[description]': ours }, isHasty: true }, ({ data }) =>
        data[0] && text(data[0].attributes, 'description') === ours ? reservationOf(data[0]) : null,
      ),

    cancelReservation: (id) => drop({ method: 'DELETE', path: `/did_reservations/${encodeURIComponent(id)}` }),

    order: ({ reference, sku, item, callback }) => {
      const chosen =
        item === 'any'
          ? { qty: 1 }
          : 'number' in item
            ? { available_did_id: item.number }
            : { did_reservation_id: item.reservation }
      const attributes = {
        // The default is true: an order for what is out of stock would wait for months.
        allow_back_ordering: false,
        external_reference_id: reference,
        ...(callback ? { callback_url: callback, callback_method: 'post' } : {}),
        items: [{ type: 'did_order_items', attributes: { sku_id: sku, ...chosen } }],
      }
      const data = { type: 'orders', attributes }
      return ask({ method: 'POST', path: '/orders', body: { data } }, (answer) => orderOf(first(answer)))
    },

    findOrder: (reference) =>
      ask({ path: '/orders', query: { 'filter[external_reference_id]': reference } }, ({ data }) =>
        ofReference(data, reference),
      ),

    orderState: (id) => ask({ path: `/orders/${encodeURIComponent(id)}` }, (answer) => orderOf(first(answer))),

    delivered: (order) =>
      ask({ path: '/dids', query: { 'filter[order.id]': order } }, ({ data }) => data.map(deliveryOf)),

    end: (id) => {
      const data = { id, type: 'dids', attributes: { billing_cycles_count: 0 } }
      return drop({ method: 'PATCH', path: `/dids/${encodeURIComponent(id)}`, body: { data } })
    },

    check: () =>
      ask({ path: '/balance' }, (answer) => {
        const { attributes } = first(answer)
        return `balance USD ${wanted(text(attributes, 'total_balance'), 'total_balance')}`
      }),

    isGenuine: (url, parameters, signature) =>
      settings.callback_secret !== undefined && isSigned(settings.callback_secret, url, parameters, signature),

    state: client.state,
  }
}
