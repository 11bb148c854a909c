import type { Sql, Tx } from '../../db/sql.ts'

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
  from msgapp_groups g join msgapp_standing c on c.account_id = g.account_id and c.id = g.channel_id
  where g.account_id = ${account} and g.id = ${id}`

/** Newest first. */
export const list = (sql: Sql, account: string, channel: string, page: { limit: number | null; offset: number }) =>
  sql.many<GroupRow>`
    select g.*, c.phone_number as channel_number, c.connection_id, c.platform, c.connection_status
    from msgapp_groups g join msgapp_standing c on c.account_id = g.account_id and c.id = g.channel_id
    where g.account_id = ${account} and g.channel_id = ${channel}
    order by g.id desc limit ${page.limit}::bigint offset ${page.offset}::bigint`

export const total = async (sql: Sql, account: string, channel: string): Promise<number> =>
  (
    await sql.one<{ total: number }>`
      select count(*)::integer as total from msgapp_groups where account_id = ${account} and channel_id = ${channel}`
  ).total

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

/** Keeps a group; one that is known by its id on the network is brought up to date. @returns its id here */
export const keep = async (tx: Tx, g: NewGroup): Promise<string> =>
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

/** Adds members; who is there already is brought up to date. */
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

/** Those who are no longer there. */
export const keepOnly = (tx: Tx, account: string, group: string, members: readonly string[]) => tx.run`
  delete from msgapp_group_members
  where account_id = ${account} and group_id = ${group} and status_code = 200 and member <> all(${members}::text[])`

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

/** The networks' ids of the groups that a channel's number is in. */
export const joined = async (tx: Tx, account: string, channel: string): Promise<string[]> => {
  const rows = await tx.many<{ network_id: string }>`
    select network_id from msgapp_groups
    where account_id = ${account} and channel_id = ${channel} and joined and network_id is not null`
  return rows.map(({ network_id }) => network_id)
}

/** The channel's number is no longer in it. */
export const leave = (tx: Tx, account: string, channel: string, networkId: string) => tx.run`
  update msgapp_groups set joined = false, updated_at = app_now()
  where account_id = ${account} and channel_id = ${channel} and network_id = ${networkId} and joined`

/** Notes what a network told. @returns false when it told it before */
export const heard = async (tx: Tx, channel: string, networkId: string): Promise<boolean> =>
  (await tx.run`
    insert into msgapp_group_events (channel_id, network_id, created_at) values (${channel}, ${networkId}, app_now())
    on conflict do nothing`) === 1

/** Networks tell again within days, not weeks. */
export const forgetHeard = (tx: Tx) => tx.run`
  delete from msgapp_group_events where (channel_id, network_id) in (
    select channel_id, network_id from msgapp_group_events where created_at < app_now() - interval '14 days'
    order by created_at limit 5000)`

/** The group of a network's id, made when it is not known; `isNew` when it was. Its name stays where none is told. */
export const meet = (tx: Tx, g: Pick<NewGroup, 'account' | 'id' | 'channel' | 'networkId'> & { name: string | null }) =>
  tx.one<{ id: string; name: string; is_new: boolean }>`
    insert into msgapp_groups (account_id, id, channel_id, network_id, name, created_at, updated_at)
    values (${g.account}, ${g.id}, ${g.channel}, ${g.networkId}, ${g.name ?? ''}, (select app_now()), (select app_now()))
    on conflict (channel_id, network_id) where network_id is not null do update
      set name = coalesce(${g.name}, msgapp_groups.name)
    returning id, name, id = ${g.id} as is_new`

export const setJoined = (tx: Tx, account: string, group: string, joined: boolean) => tx.run`
  update msgapp_groups set joined = ${joined}, updated_at = app_now()
  where account_id = ${account} and id = ${group} and joined <> ${joined}`
