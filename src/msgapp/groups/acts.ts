import type { ChatGroup, ChatGroupChange, ChatGroupMade, ChatParticipant } from '../../connectors/chat-port.ts'
import type { Tx } from '../../db/sql.ts'
import { uuid } from '../../lib/id.ts'
import type { Act } from '../acts.ts'
import { type Answer, answer, ask } from '../asking.ts'
import { type Final, final } from '../final.ts'
import type { Line } from '../intake.ts'
import { storable } from '../text.ts'
import * as store from './store.ts'

export const createAct = 'group-create'
export const changeAct = 'group-change'
export const syncAct = 'group-sync'

export type Creation = {
  readonly number: string
  readonly name: string
  readonly description: string | null
  readonly participants: readonly string[]
}

/** What a network never said it had done is told as a reason, and may be asked for again. */
const answerOf = <V>(told: Final<unknown>, value: V): Answer<V> =>
  told.outcome === 'done'
    ? { outcome: 'done', value }
    : { outcome: told.outcome === 'refused' ? 'refused' : 'failed', reason: told.reason }

const newMember = ({ number, code, message, invited }: ChatParticipant): store.NewMember => ({
  member: number,
  code,
  message,
  isAdmin: false,
  isCreator: false,
  invited,
})

/** In the order in which groups are taken by all who write more than one of them (messages/arrivals.ts): so none waits for another
 *  that waits for it. */
const inOrder = <T>(list: readonly T[], placeOf: (one: T) => string): T[] =>
  list.toSorted((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1))

/** Creates a group; its answer is the group's id here. */
export const makeCreateAct = (): Act<Creation, Final<ChatGroupMade>> => ({
  run: async (network, job) => {
    const { channel, name, description, participants } = job.payload
    // The one before ended without a word: the network may have made the group, and would make another.
    if (job.attempt > 1)
      return {
        outcome: 'unknown',
        reason: 'whoever asked the network ended before it answered; the group may be there',
      }
    return final(job, (await network.createGroup?.(channel, { name, description, participants })) ?? unable)
  },
  settle: async (tx, done) => {
    const placeOf = ({ job, result }: (typeof done)[number]) =>
      `${job.payload.channel} ${result.outcome === 'done' ? result.value.id : ''}`
    for (const { job, result } of inOrder(done, placeOf)) {
      const { account, payload } = job
      const { channel, number, name, description } = payload
      let id = ''
      if (result.outcome === 'done' && account !== null) {
        const { id: networkId, participants } = result.value
        id = await store.keep(tx, { account, id: uuid(), channel, networkId, name, description, readOnly: false })
        const creator = { member: number, code: 200, message: 'created the group', isAdmin: true, isCreator: true }
        const others = participants.filter((one) => one.number !== number).map(newMember)
        await store.addMembers(tx, account, id, [{ ...creator, invited: false }, ...others])
      }
      await answer(tx, [{ id: job.id, answer: answerOf(result, id) }])
    }
  },
})

const unable = { outcome: 'refused', reason: 'the network cannot do this' } as const

export type Change = {
  readonly group: string
  readonly networkId: string
  readonly change: Exclude<ChatGroupChange, { act: 'picture' }>
}

/** Writes down what became of a change. */
const applied = async (
  tx: Tx,
  account: string,
  { group, change }: Change,
  participants: readonly ChatParticipant[],
) => {
  if (change.act === 'description') return await store.describe(tx, account, group, change.text || null)
  const fine = participants.filter(({ code }) => code === 200).map(({ number }) => number)
  if (change.act === 'remove') await store.removeMembers(tx, account, group, fine)
  if (change.act === 'promote' || change.act === 'demote')
    await store.setAdmin(tx, account, group, fine, change.act === 'promote')
  // Who is in the group already stays what they were.
  if (change.act === 'add')
    await store.addMembers(tx, account, group, participants.filter(({ code }) => code !== 409).map(newMember))
  return fine.length
}

/** Changes a group; its answer is what became of each participant. */
export const makeChangeAct = (): Act<Change, Final<readonly ChatParticipant[]>> => ({
  run: async (network, job) => {
    const { channel, networkId, change } = job.payload
    return final(job, (await network.changeGroup?.(channel, networkId, change)) ?? unable)
  },
  settle: async (tx, done) => {
    const placeOf = ({ job }: (typeof done)[number]) => `${job.payload.channel} ${job.payload.networkId}`
    for (const { job, result } of inOrder(done, placeOf)) {
      const participants = result.outcome === 'done' ? result.value : []
      if (result.outcome === 'done' && job.account !== null) await applied(tx, job.account, job.payload, participants)
      await answer(tx, [{ id: job.id, answer: answerOf(result, participants) }])
    }
  },
})

/** Has the groups of a channel read anew. */
export const askForGroups = (tx: Tx, { account, connection, channel }: Line) =>
  ask(tx, { account, connection, channel, act: syncAct, key: channel })

/** Brings a group up to date. */
const refresh = async (tx: Tx, account: string, channel: string, told: ChatGroup): Promise<void> => {
  const { id: networkId, name, description, readOnly } = told
  const id = await store.keep(tx, {
    account,
    id: uuid(),
    channel,
    networkId,
    name: storable(name),
    description: description === null ? null : storable(description),
    readOnly,
  })
  const members = told.members.map(({ number, remote, admin, creator }) => ({
    member: number ?? remote,
    code: 200,
    message: 'is in the group',
    isAdmin: admin,
    isCreator: creator,
    invited: false,
  }))
  await store.keepOnly(
    tx,
    account,
    id,
    members.map(({ member }) => member),
  )
  if (members.length > 0) await store.addMembers(tx, account, id, members)
}

/** Reads the groups of a channel from its network anew. */
export const makeSyncAct = (): Act<object, readonly ChatGroup[] | null> => ({
  run: async (network, job) => {
    const told = network.groups ? final(job, await network.groups(job.payload.channel)) : unable
    return told.outcome === 'done' ? told.value : null
  },
  settle: async (tx, done) => {
    for (const { job, result } of inOrder(done, ({ job }) => job.payload.channel)) {
      const { account, payload } = job
      if (account === null || result === null) continue
      const { channel } = payload
      const told = new Map(result.map((group) => [group.id, group]))
      const joined = await store.joined(tx, account, channel)
      for (const networkId of inOrder([...new Set([...joined, ...told.keys()])], (id) => id)) {
        const group = told.get(networkId)
        if (group) await refresh(tx, account, channel, group)
        else await store.leave(tx, account, channel, networkId)
      }
    }
  },
})
