import type { Db, Tx } from '../../../platform/db/sql.ts'
import type { Services } from '../../../services.ts'
import type { GroupType } from '../catalogue/catalogue-rows.ts'
import { vanityDigits } from '../catalogue/city-query.ts'
import { features } from '../catalogue/features.ts'
import { freeNumbers } from '../catalogue/free-numbers.ts'
import type { NumberRow } from '../lifecycle/virtual-number-store.ts'
import { maxSearchedGroups, maxSupplierSearches } from '../limits.ts'
import { offeredTo } from '../ops.ts'
import * as store from '../store.ts'
import { makeSupplierPurchase } from '../suppliers/supplier-purchase.ts'
import { makePurchase, type Purchase } from './purchase.ts'

/** A search for free numbers over the groups of a country. */
type NumberSearch = {
  /** ISO 3166-1 alpha-2, upper case. */
  readonly country: string
  readonly type: GroupType
  /** Leading digits after the calling code; null: any. */
  readonly prefix: string | null
  /** Folded beginning of a word of the place; null: any. */
  readonly place: string | null
  /** Digits within the number; empty: any. */
  readonly digits: string
  readonly needs: { readonly sms: boolean; readonly voice: boolean }
  readonly limit: number
}

/** A free number with its group. */
export type FoundNumber = { readonly number: string; readonly group: store.GroupRow }

/** Returns the countries of which numbers are on offer, with the types. */
export const offeredCountries = (db: Db, offered: store.OfferScope): Promise<store.CountryRow[]> =>
  store.countries(db, offered)

/** Returns the digits of a search: letters are those of a keypad, other characters are dropped. */
export const keypadDigits = (text: string): string => vanityDigits(text)

export type NumberShop = ReturnType<typeof makeNumberShop>

/** Search and purchase of numbers for interfaces other than that of routes.ts. */
export const makeNumberShop = (parts: Services) => {
  const { db } = parts
  const supplierPurchase = makeSupplierPurchase(parts)
  const purchase = makePurchase(parts, supplierPurchase)

  /** Returns the reader of free numbers of one search, which asks suppliers a few times. */
  const makeReader = (account: string, digits: string) => {
    let asked = 0
    return async (group: store.GroupRow, limit: number): Promise<string[]> => {
      const supplied = await supplierPurchase.available(account, group.id, digits, asked < maxSupplierSearches)
      if (!supplied) return (await freeNumbers(db, group, digits, null, { limit, skip: 0 })).numbers
      asked++
      return supplied.numbers.slice(0, limit)
    }
  }

  return {
    /** Returns up to `limit` free numbers, from at most `maxSearchedGroups` groups, of which suppliers are asked for at most
     *  `maxSupplierSearches`; null for an unknown country. */
    search: async (
      account: string,
      { country, type, prefix, place, digits, needs, limit }: NumberSearch,
    ): Promise<FoundNumber[] | null> => {
      if (!(await store.country(db, country))) return null
      const cityQuery = prefix !== null ? { prefixes: [prefix] } : place !== null ? { name: place } : null
      const groups = await store.groups(db, {
        ...{ iso: country, region: null, city: null, type, id: null, cityQuery, skip: 0 },
        limit: maxSearchedGroups,
        offered: offeredTo(parts, account),
      })
      const found: FoundNumber[] = []
      const numbersOf = makeReader(account, digits)
      for (const group of groups) {
        if (found.length >= limit) break
        const able = features(group)
        const isFit = (!needs.sms || able.includes('sms_out')) && (!needs.voice || able.includes('voice'))
        if (!isFit || !group.allow_number_selection || group.free === 0) continue
        const numbers = await numbersOf(group, limit - found.length)
        found.push(...numbers.map((number) => ({ number, group })))
      }
      return found
    },
    /**
     * Buys one number: the given one, or any of the group.
     * @throws the 400, 402, 404, 409 or 503 Problem
     */
    buy: async (
      tx: Tx | null,
      account: string,
      wanted: Pick<Purchase, 'group' | 'number' | 'name' | 'request' | 'audit' | 'by' | 'limitedKeys'>,
    ): Promise<NumberRow | null> => {
      const offered = offeredTo(parts, account)
      const { numbers } = await purchase(tx, account, { ...wanted, offered, rings: null, answers: [] })
      return numbers[0] ?? null
    },
    /** Returns the features of a group. */
    featuresOfGroup: (group: store.GroupRow) => features(group),
    /** Returns the features of a number's group. */
    featuresOf: async ({ group_id, iso_country_code, type }: NumberRow) =>
      features((await store.group(db, group_id, 'all')) ?? { iso_country_code, type, features: null }),
  }
}
