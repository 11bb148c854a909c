import type { Db, Tx } from '../../../platform/db/sql.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { storable } from '../../../platform/lib/storable.ts'
import type { ChatGroup, ChatGroupChange, ChatGroupCreation, ChatParticipant } from '../../../ports/chat.ts'
import type { ChannelRef } from '../inbound-handlers.ts'
import { type FinalAnswer, finalAnswer } from '../operations/final-answer.ts'
import type { Operation } from '../operations/operation.ts'
import { type Answer, requestOperation, storeAnswers } from '../operations/requests.ts'
import { changeMembers } from './membership.ts'
import * as store from './store.ts'

export const createOperation = 'group-create'
export const changeOperation = 'group-change'
export const syncOperation = 'group-sync'

export type GroupCreation = {
  readonly number: string
  readonly name: string
  readonly description: string | null
  readonly participants: readonly string[]
}

/** Maps a network's answer. An operation that the network did not confirm has a reason, and may be requested again. */
const answerOf = <V>(reply: FinalAnswer<unknown>, value: V): Answer<V> =>
  reply.outcome === 'done'
    ? { outcome: 'done', value }
    : { outcome: reply.outcome === 'refused' ? 'refused' : 'failed', reason: reply.reason }

/** A participant named by number in a request. */
const personOf = (number: string) => ({ number, remote: number })

const newMember = ({ number, code, message, invited }: ChatParticipant) => ({
  who: personOf(number),
  code,
  message,
  isAdmin: false,
  isCreator: false,
  invited,
})

/** Sorts into the lock order of groups (docs/locks.md). */
const inLockOrder = <T>(list: readonly T[], placeOf: (one: T) => string): T[] =>
  list.toSorted((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1))

/** Creates a group; the answer is its id. */
export const makeCreateOperation = (): Operation<GroupCreation, FinalAnswer<ChatGroupCreation>> => ({
  run: async (network, job) => {
    const { channel, name, description, participants } = job.payload
    // A previous attempt ended without a result: the network may have created the group, and would create another.
    if (job.attempt > 1)
      return {
        outcome: 'unknown',
        reason: 'the process ended before the network answered; the group may exist',
      }
    return finalAnswer(job, (await network.createGroup?.(channel, { name, description, participants })) ?? unsupported)
  },
  onComplete: async (tx, done) => {
    const placeOf = ({ job, result }: (typeof done)[number]) =>
      `${job.payload.channel} ${result.outcome === 'done' ? result.value.id : ''}`
    for (const { job, result } of inLockOrder(done, placeOf)) {
      const { account, payload } = job
      const { channel, number, name, description } = payload
      let id = ''
      if (result.outcome === 'done' && account !== null) {
        const { id: networkId, participants } = result.value
        id = await store.upsert(tx, { account, id: uuid(), channel, networkId, name, description, readOnly: false })
        const creator = {
          who: personOf(number),
          code: 200,
          message: 'created the group',
          isAdmin: true,
          isCreator: true,
        }
        const others = participants.filter((one) => one.number !== number).map(newMember)
        await changeMembers(tx, account, id, { put: [{ ...creator, invited: false }, ...others], isNew: true })
      }
      await storeAnswers(tx, [{ id: job.id, answer: answerOf(result, id) }])
    }
  },
})

const unsupported = { outcome: 'refused', reason: 'the network cannot do this' } as const

export type GroupChange = {
  readonly group: string
  readonly networkId: string
  readonly change: Exclude<ChatGroupChange, { act: 'picture' }>
}

/** Stores the result of a change. */
const storeChange = async (
  tx: Tx,
  account: string,
  { group, change }: GroupChange,
  participants: readonly ChatParticipant[],
) => {
  if (change.act === 'description') await store.describe(tx, account, group, change.text || null)
  const fine = participants.filter(({ code }) => code === 200).map(({ number }) => number)
  if (change.act === 'remove') await changeMembers(tx, account, group, { gone: fine.map(personOf), how: 'remove' })
  if (change.act === 'promote' || change.act === 'demote')
    await store.setAdmin(tx, account, group, fine, change.act === 'promote')
  // Existing members keep their role.
  if (change.act === 'add')
    await changeMembers(tx, account, group, { put: participants.filter(({ code }) => code !== 409).map(newMember) })
}

/** Changes a group; the answer is the result of each participant. */
export const makeChangeOperation = (): Operation<GroupChange, FinalAnswer<readonly ChatParticipant[]>> => ({
  run: async (network, job) => {
    const { channel, networkId, change } = job.payload
    return finalAnswer(job, (await network.changeGroup?.(channel, networkId, change)) ?? unsupported)
  },
  onComplete: async (tx, done) => {
    const placeOf = ({ job }: (typeof done)[number]) => `${job.payload.channel} ${job.payload.networkId}`
    for (const { job, result } of inLockOrder(done, placeOf)) {
      const participants = result.outcome === 'done' ? result.value : []
      if (result.outcome === 'done' && job.account !== null)
        await storeChange(tx, job.account, job.payload, participants)
      await storeAnswers(tx, [{ id: job.id, answer: answerOf(result, participants) }])
    }
  },
})

/** Requests a resync of a channel's groups. */
export const requestSync = (
  tx: Tx,
  { account, connection, channel }: Pick<ChannelRef, 'account' | 'connection' | 'channel'>,
) => requestOperation(tx, { account, connection, channel, act: syncOperation, key: channel })

/**
 * Stores a group as its network reports it.
 * @param isKnownChannel whether its groups were synced before
 */
const storeGroup = async (
  tx: Tx,
  account: string,
  channel: string,
  reply: ChatGroup,
  { isRead, isKnownChannel }: { isRead: boolean; isKnownChannel: boolean },
): Promise<void> => {
  const { id: networkId, name, description, readOnly } = reply
  const id = await store.upsert(tx, {
    account,
    id: uuid(),
    channel,
    networkId,
    name: storable(name),
    description: description === null ? null : storable(description),
    readOnly,
  })
  const put = reply.members.map(({ number, remote, admin, creator }) => ({
    who: { number, remote },
    code: 200,
    message: 'is in the group',
    isAdmin: admin,
    isCreator: creator,
    invited: false,
  }))
  const baseline = isRead ? undefined : isKnownChannel ? 'known-channel' : 'new-channel'
  await changeMembers(tx, account, id, { put, gone: 'others', baseline })
}

/** A channel's groups as its network reports them, with the change counts stored before the request. */
type GroupsSnapshot = { readonly groups: readonly ChatGroup[]; readonly before: ReadonlyMap<string, number> }

/**
 * Stores a snapshot. A group that changed after the request is left as it is.
 * @returns its connection; null if none
 */
const storeSnapshot = async (
  tx: Tx,
  account: string,
  channel: string,
  { groups, before }: GroupsSnapshot,
): Promise<string | null> => {
  const isKnownChannel = await store.markSynced(tx, account, channel)
  const reply = new Map(groups.map((group) => [group.id, group]))
  const joined = await store.joined(tx, account, channel)
  let connection: string | null = null
  for (const networkId of inLockOrder([...new Set([...joined, ...reply.keys()])], (id) => id)) {
    const known = await store.lock(tx, account, { channel, networkId })
    const group = reply.get(networkId)
    if (known && known.membership !== (before.get(networkId) ?? 0)) connection = known.connection_id
    else if (group)
      await storeGroup(tx, account, channel, group, { isRead: known?.members_read === true, isKnownChannel })
    else if (known?.joined) await changeMembers(tx, account, known.id, { gone: [personOf(known.channel_number)] })
  }
  return connection
}

/** Reads the groups of a channel from its network. */
export const makeSyncOperation = (db: Db): Operation<object, GroupsSnapshot | null> => ({
  run: async (network, job) => {
    if (!network.groups || job.account === null) return null
    const { channel } = job.payload
    const before = await store.memberships(db, job.account, channel)
    const reply = finalAnswer(job, await network.groups(channel))
    return reply.outcome === 'done' ? { groups: reply.value, before } : null
  },
  onComplete: async (tx, done) => {
    for (const { job, result } of inLockOrder(done, ({ job }) => job.payload.channel)) {
      const { account, payload } = job
      if (account === null || result === null) continue
      const { channel } = payload
      const connection = await storeSnapshot(tx, account, channel, result)
      if (connection !== null) await requestSync(tx, { account, connection, channel })
    }
  },
})
