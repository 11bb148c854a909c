import type { Db } from '../../../platform/db/sql.ts'
import { iso } from '../../../platform/lib/clock.ts'
import { print } from '../../../platform/lib/id.ts'
import type { CallItem } from '../simulator-client.ts'
import * as store from '../store.ts'
import { ownedAt } from './handset.ts'

/** Record id at the start of the Call-ID of an outbound call. */
const recordIdOf = ({ sip_call_id: id }: CallItem): string | null => /^[\da-f-]{36}(?=-)/.exec(id)?.[0] ?? null

const secondsOf = ({ answered_at, ended_at }: CallItem): number =>
  answered_at === undefined
    ? 0
    : Math.max(0, (ended_at ? Date.parse(ended_at) : Date.now()) - Date.parse(answered_at)) / 1_000

/**
 * The account's calls as a handset saw them: those that the account placed, and those to a number that it held then.
 */
export const presentCalls = async (db: Db, account: string, items: readonly CallItem[]) => {
  if (items.length === 0) return []
  const tenures = await store.ownershipPeriods(db, account, [...new Set(items.map(({ peer }) => peer))])
  const placed = await store.callsPlaced(
    db,
    account,
    items.flatMap((item) => recordIdOf(item) ?? []),
  )
  const received = await store.callsReceived(
    db,
    account,
    items.map(({ sip_call_id }) => sip_call_id),
  )
  const records = new Map([...placed, ...received].map(({ key, id }) => [key, id]))
  return items.flatMap((item) => {
    const { sip_call_id, direction, peer, at, answered_at, ended_at, ...seen } = item
    const record = records.get(direction === 'inbound' ? (recordIdOf(item) ?? '') : sip_call_id)
    if (!record && (direction === 'inbound' || !ownedAt(tenures, [peer], at))) return []
    return {
      ...{ ...seen, direction, peer, at: iso(Date.parse(at)) },
      ...(answered_at ? { answered_at: iso(Date.parse(answered_at)) } : {}),
      ...(ended_at ? { ended_at: iso(Date.parse(ended_at)) } : {}),
      seconds: Math.round(secondsOf(item) * 10) / 10,
      ...(record ? { uuid: print('CDR', record) } : {}),
    }
  })
}
