import type { Tx } from '../../../platform/db/sql.ts'
import { withdrawalBatchSize } from '../limits.ts'
import { adjustFreeCounts, type State } from '../purchase/inventory-store.ts'
import * as store from './store.ts'

/** Why a number cannot change to the requested state. */
const reasons: Record<State, string> = {
  free: 'it is on sale',
  held: 'an account has reserved it: try again when the reservation is over',
  owned: 'an account owns it: it can be withdrawn once it is released',
  quarantine: 'it is in quarantine after its release, and will be on sale again when that ends',
  withdrawn: 'it is withdrawn already',
}

const movable: Record<'free' | 'withdrawn', readonly State[]> = {
  withdrawn: ['free', 'quarantine'],
  free: ['withdrawn'],
}

type MoveResult = { moved: number; refused: { number: string; reason: string }[] }

/** Takes numbers off sale, or puts them on sale again, if their state permits. */
export const moveNumbers = async (
  tx: Tx,
  numbers: readonly string[],
  to: 'free' | 'withdrawn',
): Promise<MoveResult> => {
  const found = new Map((await store.lock(tx, numbers)).map((row) => [row.number, row]))
  const moved = [...found.values()].filter(({ state }) => movable[to].includes(state))
  await store.setState(
    tx,
    moved.map(({ number }) => number),
    to,
  )
  const stock = new Map<string, number>()
  for (const { group_id, state } of moved) {
    const by = to === 'free' ? 1 : state === 'free' ? -1 : 0
    stock.set(group_id, (stock.get(group_id) ?? 0) + by)
  }
  await adjustFreeCounts(tx, stock)
  const refused = [...new Set(numbers)].flatMap((number) => {
    const state = found.get(number)?.state
    if (state && movable[to].includes(state)) return []
    return [{ number, reason: state ? reasons[state] : 'it is not in the inventory' }]
  })
  return { moved: moved.length, refused }
}

/** Moves all numbers of a group, except those that were withdrawn individually. @returns how many */
export const moveGroup = async (tx: Tx, group: string, to: 'free' | 'withdrawn'): Promise<number> => {
  let moved = 0
  let free = 0
  for (const from of movable[to]) {
    for (;;) {
      const some = await store.moveBatch(tx, group, from, to, withdrawalBatchSize)
      moved += some
      if (to === 'free' || from === 'free') free += some
      if (some < withdrawalBatchSize) break
    }
  }
  await adjustFreeCounts(tx, new Map([[group, to === 'free' ? free : -free]]))
  return moved
}
