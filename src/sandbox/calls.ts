import type { Db } from '../db/sql.ts'
import { iso } from '../lib/clock.ts'
import { print } from '../lib/id.ts'
import { isOwn } from './handset.ts'
import type { CallItem } from './simulator.ts'
import * as store from './store.ts'

/** The Call-ID of what we place begins with the id of its record. */
const recordOf = ({ sip_call_id: id }: CallItem): string | null => /^[\da-f-]{36}(?=-)/.exec(id)?.[0] ?? null

const secondsOf = ({ answered_at, ended_at }: CallItem): number =>
  answered_at === undefined
    ? 0
    : Math.max(0, (ended_at ? Date.parse(ended_at) : Date.now()) - Date.parse(answered_at)) / 1_000

/** The calls that are the account's, as a handset saw them: those that it placed, and those to a number that was its own. */
export const shownCalls = async (db: Db, account: string, items: readonly CallItem[]) => {
  if (items.length === 0) return []
  const tenures = await store.tenures(db, account, [...new Set(items.map(({ peer }) => peer))])
  const placed = await store.callsPlaced(
    db,
    account,
    items.flatMap((item) => recordOf(item) ?? []),
  )
  const received = await store.callsReceived(
    db,
    account,
    items.map(({ sip_call_id }) => sip_call_id),
  )
  const records = new Map([...placed, ...received].map(({ key, id }) => [key, id]))
  return items.flatMap((item) => {
    const { sip_call_id, direction, peer, at, answered_at, ended_at, ...seen } = item
    const record = records.get(direction === 'inbound' ? (recordOf(item) ?? '') : sip_call_id)
    if (!record && (direction === 'inbound' || !isOwn(tenures, [peer], at))) return []
    return {
      ...{ ...seen, direction, peer, at: iso(Date.parse(at)) },
      ...(answered_at ? { answered_at: iso(Date.parse(answered_at)) } : {}),
      ...(ended_at ? { ended_at: iso(Date.parse(ended_at)) } : {}),
      seconds: Math.round(secondsOf(item) * 10) / 10,
      ...(record ? { uuid: print('CDR', record) } : {}),
    }
  })
}
