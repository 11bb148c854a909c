import type { Tx } from '../../../platform/db/sql.ts'
import type { Audit } from '../../../platform/http/audit-entry.ts'
import { print } from '../../../platform/lib/id.ts'
import type { Micros } from '../../../platform/lib/money.ts'
import type { Services } from '../../../services.ts'
import { assertBalance, assertKeysMaySpend, type LimitedKeys } from '../../ledger/ops.ts'
import { buy, groupOf, type PurchaseRequest, type PurchaseResult } from '../ops.ts'
import { register, sealAnswers } from '../registration/registration.ts'
import {
  requirementsOf,
  type SubmittedAnswer,
  type ValidAnswer,
  validateAnswers,
} from '../registration/requirements.ts'
import { purchasePriceOf, type RequestKey } from '../suppliers/supplier-orders.ts'
import { reserveHeld, type SupplierPurchase } from '../suppliers/supplier-purchase.ts'
import * as inventory from './inventory-store.ts'

/** A purchase request. */
export type Purchase = PurchaseRequest & {
  readonly name: string | null
  /** The user whose browser rings, without prefix. */
  readonly rings: string | null
  /** Answers to the requirements. */
  readonly answers: readonly SubmittedAnswer[]
  readonly request: RequestKey | null
  readonly audit: Audit
  /** The key that buys, without prefix. */
  readonly by: string | null
  /** Keys with a daily spend limit that count the price. */
  readonly limitedKeys: LimitedKeys
}

/** Buys own numbers or a supplier's. */
export const makePurchase = (parts: Services, supplierPurchase: SupplierPurchase) => {
  const { db, config, changes } = parts

  /** Validates the supplied documents against the requirements of the candidate groups; empty if there are none. */
  const validateForGroups = async (
    account: string,
    groups: readonly string[],
    submitted: readonly SubmittedAnswer[],
  ): Promise<ValidAnswer[]> => {
    const found = await Promise.all(groups.map((id) => groupOf(db, id, 'all')))
    const requirements = await Promise.all(found.map((group) => requirementsOf(db, group)))
    return found.length === 0 ? [] : validateAnswers(db, account, requirements.flat(), submitted)
  }

  const assertCovered = async (account: string, price: Micros, limitedKeys: LimitedKeys) => {
    await assertBalance(db, account, price)
    if (limitedKeys !== null) await db.begin((tx) => assertKeysMaySpend(tx, account, limitedKeys, price))
  }

  /**
   * @param tx the request's own transaction, if it has one
   * @throws the 400 and 404 Problems before any supplier request or purchase; then the 402, 409 and 503 ones
   */
  return async (
    tx: Tx | null,
    account: string,
    purchase: Purchase,
  ): Promise<Pick<PurchaseResult, 'numbers' | 'failed'>> => {
    const { group, number, name, rings, answers: submitted, request, audit, by, limitedKeys, offered } = purchase
    if (group !== null) await groupOf(db, group, offered)
    const who = { account, isKeyed: tx !== null }
    const from = await supplierPurchase.seek(who, purchase)
    const sold = group ?? from?.group_id
    const answers = await validateForGroups(
      account,
      sold ? [sold] : await inventory.groupsOf(db, account, number),
      submitted,
    )
    if (from && number === null && !from.selectable)
      return {
        numbers: [
          await supplierPurchase.buyAny(account, from, {
            name,
            rings,
            by,
            limitedKeys,
            request,
            audit,
            answers: sealAnswers(parts.seal, answers),
          }),
        ],
        failed: [],
      }
    // Balance and limit are checked before the supplier holds a number.
    if (from) await assertCovered(account, purchasePriceOf(await groupOf(db, from.group_id, 'real')), limitedKeys)
    const held = from && (await supplierPurchase.holdNumber(who, from, number))
    const work = async (tx: Tx) => {
      if (held) await reserveHeld(tx, account, held, config.reservationMinutes)
      const request = { group, number: held ? held.number : number, offered }
      const bought = await buy(tx, account, request, { name, rings, by, limitedKeys })
      await register(tx, parts, account, bought.unregistered, submitted)
      const target = bought.numbers.map(({ id }) => print('DID', id))
      await audit(tx, {
        target,
        after: { phone_numbers: bought.numbers.map((row) => row.number), friendly_name: name },
      })
      changes.invalidateLocally(tx, 'purchases')
      return bought
    }
    return supplierPurchase.withHold(held, () => (tx ? work(tx) : db.begin(work)))
  }
}
