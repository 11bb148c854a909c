import { canonicalNumber } from '@trunkline/phone/number-forms.ts'
import type { Db, Tx } from '../../../platform/db/sql.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { makeKeyedQueue } from '../../../platform/lib/serial-queue.ts'
import { storable } from '../../../platform/lib/storable.ts'
import type { ChatGroupEvent } from '../../../ports/chat.ts'
import type { ChannelRef } from '../inbound-handlers.ts'
import { requestSync } from './group-operations.ts'
import { changeMembers, renameMember } from './membership.ts'
import * as store from './store.ts'

/** Stores one membership change; a repeated report has no effect. */
const storeEvent = async (
  tx: Tx,
  channelRef: ChannelRef,
  { id: networkId, group, name, what, who, at }: ChatGroupEvent,
): Promise<void> => {
  const { account, channel, number } = channelRef
  if (!(await store.recordEventId(tx, channel, networkId))) return
  const known = await store.findOrCreate(tx, {
    account,
    id: uuid(),
    channel,
    networkId: group,
    name: name === null ? null : storable(name),
  })
  if (what === 'join') {
    const joined = { code: 200, message: 'joined', isAdmin: false, isCreator: false, invited: false }
    await changeMembers(tx, account, known.id, { put: who.map((one) => ({ who: one, ...joined })), at })
  } else if (what !== 'changed') await changeMembers(tx, account, known.id, { gone: who, how: what, at })
  const isOurs = who.some((one) => one.number === canonicalNumber(number))
  if (what === 'changed' || known.is_new || (isOurs && what === 'join')) await requestSync(tx, channelRef)
}

/**
 * Stores group reports in their order: numbers that joined, left or were removed. Any other change causes a resync of
 * the group.
 */
export const makeGroupHandlers = (db: Db) => {
  const queue = makeKeyedQueue()
  return {
    group: (channelRef: ChannelRef, event: ChatGroupEvent): Promise<void> =>
      queue(`${channelRef.channel} ${event.group}`, () => db.begin((tx) => storeEvent(tx, channelRef, event))),
    /** Renames members that are stored under another name to the number. */
    member: (channelRef: ChannelRef, before: string, number: string): Promise<void> =>
      db.begin((tx) => renameMember(tx, channelRef, before, number)),
  }
}
