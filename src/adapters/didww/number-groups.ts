import { micros } from '../../platform/lib/money.ts'
import type { SupplierGroup, SupplierOffer } from '../../ports/supplier.ts'
import { count, isTrue, list, type Resource, text } from './json-api.ts'

const types = ['global', 'local', 'mobile', 'national', 'sharedcost', 'tollfree'] as const

/** `Toll-free`, `Shared Cost` → our type. */
const typeOf = (name: string): SupplierGroup['type'] | null => {
  const plain = name.toLowerCase().replace(/[^a-z]/g, '')
  return types.find((type) => type === plain) ?? null
}

const offerOf = ({ id, attributes }: Resource): SupplierOffer[] => {
  const [setup, monthly] = [text(attributes, 'setup_price') ?? '', text(attributes, 'monthly_price') ?? '']
  if ((micros(setup) ?? -1) < 0 || (micros(monthly) ?? -1) < 0) return []
  return [{ sku: id, setup, monthly, channels: count(attributes, 'channels_included_count') ?? 0 }]
}

/**
 * Returns a group with its related resources. Null for one that cannot be sold here: of an unknown type, or without a
 * country, calling code, area name or price.
 */
export const groupOf = (resource: Resource): SupplierGroup | null => {
  const { id, attributes, meta } = resource
  const [country] = resource.related('country')
  const [kind] = resource.related('did_group_type')
  const [region] = resource.related('region')
  const [city] = resource.related('city')
  const [requirement] = resource.related('address_requirement')
  const iso = country && text(country.attributes, 'iso')
  const callingCode = country && text(country.attributes, 'prefix')
  const type = kind ? typeOf(text(kind.attributes, 'name') ?? '') : null
  const area = text(attributes, 'area_name')
  const offers = resource.related('stock_keeping_units').flatMap(offerOf)
  if (!iso || !/^[A-Z]{2}$/.test(iso) || !callingCode || !type || area === null || offers.length === 0) return null
  const regionName = region && text(region.attributes, 'name')
  const isAvailable = isTrue(meta, 'is_available')
  const restriction = (requirement && text(requirement.attributes, 'restriction_message')) ?? text(meta, 'restrictions')
  return {
    id,
    country: iso,
    callingCode,
    type,
    prefix: text(attributes, 'prefix') ?? '',
    area,
    region: regionName ? { name: regionName, code: text(region.attributes, 'iso') } : null,
    city: (city && text(city.attributes, 'name')) ?? null,
    features: list(attributes.features).filter((feature) => typeof feature === 'string'),
    available: isAvailable ? Math.max(1, count(meta, 'total_count') ?? 1) : 0,
    selectable: isTrue(meta, 'available_dids_enabled'),
    registration: isTrue(meta, 'needs_registration') ? (restriction ?? 'The regulator asks for a registration') : null,
    offers,
  }
}
