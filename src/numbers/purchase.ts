import type { Tx } from '../db/sql.ts'
import type { Audit } from '../http/audit.ts'
import { expectBalance } from '../ledger/ops.ts'
import { print } from '../lib/id.ts'
import type { Parts } from '../parts.ts'
import * as inventory from './inventory.ts'
import { type Bought, buy, groupOf, type Wish } from './ops.ts'
import { type Outside, reserveHeld } from './outside.ts'
import { register, sealed } from './registration.ts'
import { type Answer, askedOf, type Given, readAnswers } from './requirements.ts'
import { priceOf, type RequestKey } from './supply.ts'

/** A purchase as it is asked for. */
export type Purchase = Wish & {
  readonly name: string | null
  /** What is given for the requirements. */
  readonly given: readonly Given[]
  readonly request: RequestKey | null
  readonly audit: Audit
}

/** Buys numbers of our own, or of a supplier. */
export const makePurchase = (parts: Parts, outside: Outside) => {
  const { db, config, changes } = parts

  /** What is given, checked against what is asked in the groups that the wish comes to; where there are none, it comes to
   *  nothing. */
  const read = async (account: string, groups: readonly string[], given: readonly Given[]): Promise<Answer[]> => {
    const found = await Promise.all(groups.map((id) => groupOf(db, id, true)))
    const asked = await Promise.all(found.map((group) => askedOf(db, group)))
    return found.length === 0 ? [] : readAnswers(db, account, asked.flat(), given)
  }

  /**
   * @param tx the request's own transaction, where it has one
   * @throws the 400 and 404 Problems before anything is asked of a supplier or bought; then the 402, 409 and 503 ones
   */
  return async (tx: Tx | null, account: string, wanted: Purchase): Promise<Pick<Bought, 'numbers' | 'failed'>> => {
    const { group, number, name, given, request, audit } = wanted
    if (group !== null) await groupOf(db, group)
    const who = { account, isKeyed: tx !== null }
    const from = await outside.seek(who, wanted)
    const sold = group ?? from?.group_id
    const answers = await read(account, sold ? [sold] : await inventory.groupsOf(db, account, number), given)
    if (from && number === null && !from.selectable)
      return {
        numbers: [await outside.buyAny(account, from, { name, request, audit, answers: sealed(parts.seal, answers) })],
        failed: [],
      }
    // A supplier holds nothing for who cannot pay.
    if (from) await expectBalance(db, account, priceOf(await groupOf(db, from.group_id)))
    const held = from && (await outside.hold(who, from, number))
    const work = async (tx: Tx) => {
      if (held) await reserveHeld(tx, account, held, config.reservationMinutes)
      const bought = await buy(tx, account, { group, number: held ? held.number : number }, name)
      await register(tx, parts, account, bought.unregistered, given)
      const target = bought.numbers.map(({ id }) => print('DID', id))
      await audit(tx, {
        target,
        after: { phone_numbers: bought.numbers.map((row) => row.number), friendly_name: name },
      })
      changes.nudge(tx, 'purchases')
      return bought
    }
    return outside.keeping(held, () => (tx ? work(tx) : db.begin(work)))
  }
}
