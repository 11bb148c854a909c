import type { Db } from '../../../platform/db/sql.ts'
import { applyItems } from '../apply-items.ts'
import { loadItems, type NewItem } from '../item-sources.ts'
import { historyStep } from '../limits.ts'
import { takeInOlder } from './older-items.ts'
import * as store from './store.ts'

/** Splits items into groups of few conversations, each for one transaction. */
const inGroups = (items: readonly NewItem[]): NewItem[][] => {
  const threads = [...Map.groupBy(items, ({ counterpart }) => counterpart).values()]
  return Array.from({ length: Math.ceil(threads.length / historyStep.conversations) }, (_, i) =>
    threads.slice(i * historyStep.conversations, (i + 1) * historyStep.conversations).flat(),
  )
}

/**
 * Takes in the next messages and calls of an account's history, from the newest backwards. A step that is killed is
 * repeated, and changes nothing twice.
 * @returns false if nothing is left, or another process has the turn
 */
export const takeInHistory = async (db: Db, account: string): Promise<boolean> => {
  const at = await store.position(db, account)
  if (at) {
    const refs = await store.beginningsBefore(db, account, at)
    const items = await loadItems(db, account, refs)
    for (const group of inGroups(items)) await db.begin((tx) => applyItems(tx, account, group, 'history'))
    const last = refs.at(-1)
    return await db.begin(async (tx) => {
      if (!(await store.takeTurn(tx, account))) return false
      await store.setPosition(tx, account, last ? { until: last.at, id: last.id } : null)
      return true
    })
  }
  const found = await store.incomplete(db, account, historyStep.conversations)
  for (const { id } of found) await takeInOlder(db, { account_id: account, id })
  return found.length > 0
}
