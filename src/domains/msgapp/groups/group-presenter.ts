import type { Sql } from '../../../platform/db/sql.ts'
import { iso } from '../../../platform/lib/clock.ts'
import { print } from '../../../platform/lib/id.ts'
import { groupPeer, sessionKey } from '../messages/peer.ts'
import * as store from './store.ts'

export const presentMember = (row: Omit<store.MemberRow, 'group_id' | 'member'>) => ({
  statusCode: row.status_code,
  message: row.message,
  isGroupCreator: row.is_creator,
  isInviteV4Sent: row.invited,
  isAdmin: row.is_admin,
})

const presentGroup = (row: store.GroupRow, members: readonly store.MemberRow[]) => ({
  uuid: print('WAG', row.id),
  wa_group_id: row.network_id ?? '',
  name: row.name,
  wa_group_name: row.name,
  is_muted: false,
  participant: { phone_number: row.channel_number },
  ...(row.description === null ? {} : { description: row.description }),
  channel_uuid: print('WPN', row.channel_id),
  channel_phone_number: row.channel_number,
  session_key: sessionKey(row.channel_id, groupPeer(row.id, row.network_id)),
  read_only: row.read_only || !row.joined,
  is_read_only: row.read_only || !row.joined,
  participants: Object.fromEntries(members.map((member) => [member.member, presentMember(member)])),
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})

/** Maps groups of an account, with their members, to their API form (interface.md 2.18). */
export const presentGroups = async (sql: Sql, account: string, rows: readonly store.GroupRow[]) => {
  const ids = rows.map(({ id }) => id)
  const members = Map.groupBy(await store.members(sql, account, ids), ({ group_id }) => group_id)
  return rows.map((row) => presentGroup(row, members.get(row.id) ?? []))
}
