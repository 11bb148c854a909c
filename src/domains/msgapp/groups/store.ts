import { makeConditions } from '../../../platform/db/conditions.ts'
import { countRows, exactTime, type ListPage, makeListQuery } from '../../../platform/db/list-query.ts'
import type { Sql, Tx } from '../../../platform/db/sql.ts'
import { type Narrowing, visibleSql } from '../../inbox/narrowing/ops.ts'

export type GroupRow = {
  account_id: string
  id: string
  channel_id: string
  network_id: string | null
  name: string
  description: string | null
  read_only: boolean
  joined: boolean
  created_at: Date
  updated_at: Date
  channel_number: string
  connection_id: string
  platform: string
  connection_status: string
}

export type MemberRow = {
  group_id: string
  member: string
  status_code: number
  message: string
  is_admin: boolean
  is_creator: boolean
  invited: boolean
}

export const find = (sql: Sql, account: string, id: string) => sql.maybe<GroupRow>`
  select g.*, c.phone_number as channel_number, c.connection_id, c.platform, c.connection_status
  from msgapp_groups g join msgapp_channel_status c on c.account_id = g.account_id and c.id = g.channel_id
  where g.account_id = ${account} and g.id = ${id}`

/** Groups of a channel are few: the condition of a narrowed reader is not bounded. */
const groupsOf = (account: string, channel: string, narrowing: Narrowing | null) => {
  const conditions = makeConditions()
  conditions.add('account_id = ?', account)
  conditions.add('channel_id = ?', channel)
  if (narrowing !== null)
    conditions.push(
      visibleSql("array['WAG' || msgapp_groups.id]", conditions.bind(account), conditions.bind(narrowing.user)),
    )
  return makeListQuery({ table: 'msgapp_groups', key: [{ name: 'id', type: 'uuid' }], isNewestFirst: true }, conditions)
}

/** Newest first. */
export const page = (sql: Sql, account: string, channel: string, narrowing: Narrowing | null, at: ListPage) => {
  const { text, values } = groupsOf(account, channel, narrowing).page('*', at)
  return sql.raw<GroupRow & { at: string }>(
    `select g.*, ${exactTime('g.created_at')} as at, c.phone_number as channel_number, c.connection_id, c.platform,
       c.connection_status
     from (${text}) g join msgapp_channel_status c on c.account_id = g.account_id and c.id = g.channel_id
     order by g.id desc`,
    values,
  )
}

export const total = (sql: Sql, account: string, channel: string, narrowing: Narrowing | null) =>
  countRows(sql, groupsOf(account, channel, narrowing).total())

export const members = (sql: Sql, account: string, groups: readonly string[]) => sql.many<MemberRow>`
  select * from msgapp_group_members
  where account_id = ${account} and group_id = any(${groups}::uuid[]) order by group_id, is_creator desc, member`

type NewGroup = {
  account: string
  id: string
  channel: string
  networkId: string
  name: string
  description: string | null
  readOnly: boolean
}

/**
 * Stores a group, or updates one known by its id on the network.
 * @returns its id
 */
export const upsert = async (tx: Tx, g: NewGroup): Promise<string> =>
  (
    await tx.one<{ id: string }>`
      insert into msgapp_groups (account_id, id, channel_id, network_id, name, description, read_only, created_at, updated_at)
      values (${g.account}, ${g.id}, ${g.channel}, ${g.networkId}, ${g.name}, ${g.description}, ${g.readOnly},
        (select app_now()), (select app_now()))
      on conflict (channel_id, network_id) where network_id is not null do update
        set name = excluded.name, description = excluded.description, read_only = excluded.read_only, joined = true,
          updated_at = case when (msgapp_groups.name, msgapp_groups.description, msgapp_groups.read_only, msgapp_groups.joined)
            is distinct from (excluded.name, excluded.description, excluded.read_only, true)
            then excluded.updated_at else msgapp_groups.updated_at end
      returning id`
  ).id

export type NewMember = {
  member: string
  code: number
  message: string
  isAdmin: boolean
  isCreator: boolean
  invited: boolean
}

/** Adds members; existing ones are updated. */
export const addMembers = (tx: Tx, account: string, group: string, members: readonly NewMember[]) => tx.run`
  insert into msgapp_group_members (account_id, group_id, member, status_code, message, is_admin, is_creator, invited,
    updated_at)
  select ${account}::uuid, ${group}::uuid, m.*, (select app_now()) from unnest(
    ${members.map(({ member }) => member)}::text[], ${members.map(({ code }) => code)}::smallint[],
    ${members.map(({ message }) => message)}::text[], ${members.map(({ isAdmin }) => isAdmin)}::boolean[],
    ${members.map(({ isCreator }) => isCreator)}::boolean[], ${members.map(({ invited }) => invited)}::boolean[]) m (member, code, message, is_admin, is_creator, invited)
  order by m.member
  on conflict (account_id, group_id, member) do update set status_code = excluded.status_code, message = excluded.message,
    is_admin = excluded.is_admin, is_creator = excluded.is_creator, invited = excluded.invited,
    updated_at = excluded.updated_at`

export const removeMembers = (tx: Tx, account: string, group: string, members: readonly string[]) => tx.run`
  delete from msgapp_group_members
  where account_id = ${account} and group_id = ${group} and member = any(${members}::text[])`

/** Renames a member, from the network's id to a number. */
export const renameMember = async (tx: Tx, account: string, group: string, before: string, member: string) => {
  await tx.run`
    update msgapp_group_members set member = ${member} where account_id = ${account} and group_id = ${group}
      and member = ${before} and not exists (
        select from msgapp_group_members where account_id = ${account} and group_id = ${group} and member = ${member})`
  await removeMembers(tx, account, group, [before])
}

/** Locks the groups of a channel that have a member of this name, in the lock order of groups. */
export const groupsWith = (tx: Tx, account: string, channel: string, member: string) => tx.many<{ id: string }>`
  select id from msgapp_groups g where account_id = ${account} and channel_id = ${channel} and exists (
    select from msgapp_group_members m where m.account_id = ${account} and m.group_id = g.id and m.member = ${member})
  order by network_id collate "C" for update`

/** A group locked for a membership change. */
export type LockedGroup = {
  id: string
  channel_id: string
  connection_id: string
  channel_number: string
  network_id: string
  name: string
  joined: boolean
  members_read: boolean
  membership: number
  now: Date
}

/** Locks a group by its id, or by its channel and the network's id. */
export const lock = (
  tx: Tx,
  account: string,
  by: { id: string } | { channel: string; networkId: string },
): Promise<LockedGroup | null> => {
  const [id, channel, networkId] = 'id' in by ? [by.id, null, null] : [null, by.channel, by.networkId]
  return tx.maybe<LockedGroup>`
    select g.id, g.channel_id, c.connection_id, c.phone_number as channel_number, g.network_id, g.name, g.joined,
      g.members_read, g.membership, app_now() as now
    from msgapp_groups g join msgapp_channels c on c.account_id = g.account_id and c.id = g.channel_id
    where g.account_id = ${account} and (g.id = ${id}::uuid or (g.channel_id = ${channel}::uuid and g.network_id = ${networkId}::text))
    for update of g`
}

/**
 * Stores the state of a locked group's member list.
 * @param changes number of membership changes
 */
export const storeMembership = (
  tx: Tx,
  account: string,
  group: string,
  { joined, read, changes }: { joined: boolean; read: boolean; changes: number },
) => tx.run`
  update msgapp_groups set joined = ${joined}, members_read = ${read}, membership = membership + ${changes}::bigint,
    updated_at = case when ${changes}::bigint > 0 then app_now() else updated_at end
  where account_id = ${account} and id = ${group}
    and (joined, members_read, ${changes}::bigint) is distinct from (${joined}, ${read}, 0)`

/** Counts of membership changes of a channel's groups, by network id. */
export const memberships = async (sql: Sql, account: string, channel: string): Promise<ReadonlyMap<string, number>> => {
  const rows = await sql.many<{ network_id: string; membership: number }>`
    select network_id, membership from msgapp_groups
    where account_id = ${account} and channel_id = ${channel} and network_id is not null`
  return new Map(rows.map(({ network_id, membership }) => [network_id, membership]))
}

/** Marks the channel's groups as synced. Returns whether they were before. */
export const markSynced = async (tx: Tx, account: string, channel: string): Promise<boolean> =>
  (await tx.run`
    update msgapp_channels set groups_read = true
    where account_id = ${account} and id = ${channel} and not groups_read`) === 0

export const setAdmin = (
  tx: Tx,
  account: string,
  group: string,
  members: readonly string[],
  isAdmin: boolean,
) => tx.run`
  update msgapp_group_members set is_admin = ${isAdmin}, updated_at = app_now()
  where account_id = ${account} and group_id = ${group} and member = any(${members}::text[])`

export const describe = (tx: Tx, account: string, group: string, description: string | null) => tx.run`
  update msgapp_groups set description = ${description}, updated_at = app_now()
  where account_id = ${account} and id = ${group}`

/** Network ids of the groups that a channel's number is in. */
export const joined = async (tx: Tx, account: string, channel: string): Promise<string[]> => {
  const rows = await tx.many<{ network_id: string }>`
    select network_id from msgapp_groups
    where account_id = ${account} and channel_id = ${channel} and joined and network_id is not null`
  return rows.map(({ network_id }) => network_id)
}

/**
 * Records an event id of the network.
 * @returns false if it was recorded before
 */
export const recordEventId = async (tx: Tx, channel: string, networkId: string): Promise<boolean> =>
  (await tx.run`
    insert into msgapp_group_events (channel_id, network_id, created_at) values (${channel}, ${networkId}, app_now())
    on conflict do nothing`) === 1

/** Networks redeliver within days, not weeks. */
export const purgeEventIds = (tx: Tx) => tx.run`
  delete from msgapp_group_events where (channel_id, network_id) in (
    select channel_id, network_id from msgapp_group_events where created_at < app_now() - interval '14 days'
    order by created_at limit 5000)`

/** Finds a group by its network id, or creates it (`isNew`). Its name stays if none is given. */
export const findOrCreate = (
  tx: Tx,
  g: Pick<NewGroup, 'account' | 'id' | 'channel' | 'networkId'> & { name: string | null },
) =>
  tx.one<{ id: string; name: string; is_new: boolean }>`
    insert into msgapp_groups (account_id, id, channel_id, network_id, name, created_at, updated_at)
    values (${g.account}, ${g.id}, ${g.channel}, ${g.networkId}, ${g.name ?? ''}, (select app_now()), (select app_now()))
    on conflict (channel_id, network_id) where network_id is not null do update
      set name = coalesce(${g.name}, msgapp_groups.name)
    returning id, name, id = ${g.id} as is_new`
