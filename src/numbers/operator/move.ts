import type { Tx } from '../../db/sql.ts'
import { count, type State } from '../inventory.ts'
import * as store from './store.ts'

/** Why a number cannot be withdrawn, or put on sale again. */
const reasons: Record<State, string> = {
  free: 'it is on sale',
  held: 'an account has reserved it: try again when the reservation is over',
  owned: 'an account owns it: it can be withdrawn once it is released',
  quarantine: 'it rests after its release, and comes on sale by itself',
  withdrawn: 'it is withdrawn already',
}

const movable: Record<'free' | 'withdrawn', readonly State[]> = {
  withdrawn: ['free', 'quarantine'],
  free: ['withdrawn'],
}

type Moved = { moved: number; refused: { number: string; reason: string }[] }

/** Takes numbers off sale, or puts them on sale again, as far as their state lets one. */
export const moveNumbers = async (tx: Tx, numbers: readonly string[], to: 'free' | 'withdrawn'): Promise<Moved> => {
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
  await count(tx, stock)
  const refused = [...new Set(numbers)].flatMap((number) => {
    const state = found.get(number)?.state
    if (state && movable[to].includes(state)) return []
    return [{ number, reason: state ? reasons[state] : 'it is not in the inventory' }]
  })
  return { moved: moved.length, refused }
}

/** Numbers that one statement takes: well within the database's limit of 30 s. */
const part = 50_000

/** The same with all numbers of a group, but for those that were withdrawn by themselves. @returns how many */
export const moveGroup = async (tx: Tx, group: string, to: 'free' | 'withdrawn'): Promise<number> => {
  let moved = 0
  let free = 0
  for (const from of movable[to]) {
    for (;;) {
      const some = await store.moveSome(tx, group, from, to, part)
      moved += some
      if (to === 'free' || from === 'free') free += some
      if (some < part) break
    }
  }
  await count(tx, new Map([[group, to === 'free' ? free : -free]]))
  return moved
}
