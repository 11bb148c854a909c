import { canonicalNumber } from '@trunkline/phone/number-forms.ts'
import type { Tx } from '../../../platform/db/sql.ts'
import { iso } from '../../../platform/lib/clock.ts'
import { print } from '../../../platform/lib/id.ts'
import type { ChatParty } from '../../../ports/chat-message.ts'
import { record } from '../../events/ops.ts'
import { chatsByRemote } from '../messages/inbound/inbound-store.ts'
import { groupPeer } from '../messages/peer.ts'
import * as store from './store.ts'

const names = { join: 'msgapp.group.join', leave: 'msgapp.group.leave', remove: 'msgapp.group.remove' } as const

/** A person as a network names them: number, if known, and network id. */
export type Person = Pick<ChatParty, 'number' | 'remote'>

/**
 * Changes of the stored member list. A member has the code 200; invited and rejected numbers are stored in the same
 * list.
 */
export type MembershipChange = {
  readonly put?: readonly (Omit<store.NewMember, 'member'> & { readonly who: Person })[]
  /** Members who are no longer in the group. `others`: `put` is the whole list. */
  readonly gone?: readonly Person[] | 'others'
  /** `put` is the whole list of a newly created group. */
  readonly isNew?: boolean
  /** Event for members that are gone. Default: leave. */
  readonly how?: 'leave' | 'remove'
  /** Unix milliseconds. Default: now. */
  readonly at?: number
  /**
   * Set for the first sync of a group, whose members joined before. Only the channel's own number can be new then, in
   * a group that appeared after the channel's first sync. Default: every difference is a change.
   */
  readonly baseline?: 'known-channel' | 'new-channel' | undefined
}

/** @returns the names under which persons are stored; for a person without a number, the number of the conversation */
const namesOf = async (
  tx: Tx,
  { account, channel }: { account: string; channel: string },
  persons: readonly Person[],
): Promise<ReadonlyMap<Person, string>> => {
  const strangers = persons.filter(({ number }) => number === null).map(({ remote }) => ({ account, channel, remote }))
  const chats = strangers.length === 0 ? [] : await chatsByRemote(tx, strangers)
  const numbers = new Map(chats.map(({ remote_id, number }) => [remote_id, number]))
  return new Map(persons.map((one) => [one, canonicalNumber(one.number ?? numbers.get(one.remote) ?? one.remote)]))
}

/** Renames members stored under the network's id to their number, once known; no membership changes. */
const renameToNumbers = async (
  tx: Tx,
  { account, group }: { account: string; group: string },
  stored: Map<string, number>,
  known: ReadonlyMap<Person, string>,
): Promise<void> => {
  for (const [{ remote }, member] of known) {
    const code = stored.get(remote)
    if (remote === member || code === undefined) continue
    await store.renameMember(tx, account, group, remote, member)
    stored.delete(remote)
    if (!stored.has(member)) stored.set(member, code)
  }
}

/**
 * The only place that changes group members. Locks the group, stores the change, and records one event for joined and
 * one for removed numbers. The events are the difference between the stored lists. The answer to a request, its echo
 * and a sync may come in any order; the first of them makes the difference.
 */
export const changeMembers = async (
  tx: Tx,
  account: string,
  group: string,
  { put = [], gone = [], isNew = false, how = 'leave', at, baseline }: MembershipChange,
): Promise<void> => {
  const locked = await store.lock(tx, account, { id: group })
  if (!locked) return
  const { channel_id: channel, channel_number: ours } = locked
  const rows = await store.members(tx, account, [group])
  const stored = new Map(rows.map(({ member, status_code }) => [member, status_code]))
  const persons = [...put.map(({ who }) => who), ...(gone === 'others' ? [] : gone)]
  const known = await namesOf(tx, { account, channel }, persons)
  await renameToNumbers(tx, { account, group }, stored, known)
  const nameOf = (who: Person) => known.get(who) ?? who.remote
  const isIn = (member: string) => stored.get(member) === 200

  // A rejection does not remove a member.
  const members = new Map(put.map(({ who, ...rest }) => [nameOf(who), { ...rest, member: nameOf(who) }]))
  const present = [...members.values()].filter(({ code, member }) => code === 200 || !isIn(member))
  const came = present.filter(({ code, member }) => code === 200 && !isIn(member)).map(({ member }) => member)
  const leaving =
    gone === 'others' ? [...stored.keys()].filter((one) => isIn(one) && !members.has(one)) : gone.map(nameOf)
  // Before the first sync only the network knows the members.
  const isUnread = gone !== 'others' && locked.joined && !locked.members_read
  const went = leaving.filter((one) => isIn(one) || (isUnread && !stored.has(one)))
  if (leaving.length > 0) await store.removeMembers(tx, account, group, leaving)
  if (present.length > 0) await store.addMembers(tx, account, group, present)

  const isOut = went.includes(ours)
  await store.storeMembership(tx, account, group, {
    joined: isOut ? false : locked.joined || came.includes(ours),
    read: !isOut && (locked.members_read || isNew || gone === 'others'),
    changes: came.length + went.length,
  })
  const isNews = (member: string) => baseline === undefined || (baseline === 'known-channel' && member === ours)
  const payload = {
    channel_uuid: print('WPN', channel),
    channel_phone_number: ours,
    group_uuid: print('WAG', group),
    wa_group_id: locked.network_id,
    name: locked.name,
    created_at: iso(at ?? locked.now).slice(0, 19),
  }
  const conversation = `${channel} ${groupPeer(group, locked.network_id)}`
  const changes = [
    { name: names[how], participants: went },
    { name: names.join, participants: came.filter(isNews) },
  ]
  await record(
    tx,
    changes
      .filter(({ participants }) => participants.length > 0)
      .map(({ name, participants }) => ({
        account,
        name,
        channel,
        conversation,
        payload: { ...payload, participants },
      })),
  )
}

/** Renames a member of a channel's groups to a number, or to another number. */
export const renameMember = async (
  tx: Tx,
  { account, channel }: { account: string; channel: string },
  before: string,
  number: string,
): Promise<void> => {
  if (before === number) return
  for (const { id } of await store.groupsWith(tx, account, channel, before))
    await store.renameMember(tx, account, id, before, number)
}
