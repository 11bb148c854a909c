import type { GroupType, PriceRow } from '../../src/domains/numbers/catalogue/catalogue-rows.ts'

/**
 * List prices of the sandbox in US dollars: setup, month, inbound minute; by type and zone. They are invented but
 * plausible, and come from no supplier.
 */
const pricesByZone: Record<Exclude<GroupType, 'global'>, [home: PriceRow, near: PriceRow, far: PriceRow]> = {
  local: [
    ['1.00', '1.15', '0.0050'],
    ['1.50', '1.50', '0.0080'],
    ['3.00', '5.00', '0.0120'],
  ],
  mobile: [
    ['1.00', '2.00', '0.0080'],
    ['2.00', '4.00', '0.0100'],
    ['4.00', '8.00', '0.0150'],
  ],
  national: [
    ['1.00', '1.50', '0.0060'],
    ['1.50', '2.00', '0.0090'],
    ['4.00', '6.00', '0.0150'],
  ],
  sharedcost: [
    ['5.00', '8.00', '0.0300'],
    ['5.00', '10.00', '0.0400'],
    ['8.00', '15.00', '0.0600'],
  ],
  tollfree: [
    ['1.00', '2.15', '0.0220'],
    ['5.00', '15.00', '0.0600'],
    ['10.00', '25.00', '0.1200'],
  ],
}

const home = new Set(['US', 'CA', 'GB'])
const near = new Set(
  (
    'AT AU BE BG BR CH CY CZ DE DK EE ES FI FR GR HK HR HU IE IL IS IT JP KR LI LT LU LV MT MX NL NO NZ PL PT RO SE ' +
    'SG SI SK TW'
  ).split(' '),
)

export const priceRows: PriceRow[] = Object.values(pricesByZone).flat()

/** Returns the index in `priceRows` of the price of a type in a country. */
export const priceOf = (type: Exclude<GroupType, 'global'>, iso: string): number =>
  Object.keys(pricesByZone).indexOf(type) * 3 + (home.has(iso) ? 0 : near.has(iso) ? 1 : 2)
