import type { Static } from 'typebox'
import type { Sql } from '../../platform/db/sql.ts'
import { iso } from '../../platform/lib/clock.ts'
import { fullName } from '../../platform/lib/full-name.ts'
import { type Prefix, print } from '../../platform/lib/id.ts'
import * as context from './context-store.ts'
import type { ConversationRow, ItemKind } from './conversation-row.ts'
import { shownChannels } from './limits.ts'
import type { Conversation } from './schemas.ts'

export type PresentedConversation = Static<typeof Conversation>

/** A reader of conversations: a user, or the keys of the account. */
export type Reader = { readonly account: string; readonly user: string }

/** Stands for the keys of an account in read marks. */
export const keyReader = '00000000-0000-0000-0000-000000000000'

/** Returns the printed id of an item. */
export const printItem = (kind: ItemKind, direction: 'inbound' | 'outbound' | null, id: string): string => {
  const prefixes: { readonly [kind in ItemKind]: Prefix } = {
    sms: direction === 'inbound' ? 'SMI' : 'SMO',
    msgapp: 'MSG',
    call: 'CDR',
    'msgapp-call': 'CDR',
    note: 'NTE',
    change: 'ITM',
  }
  return print(prefixes[kind], id)
}

/** Returns the printed id of the channel of an item. */
export const printChannel = (kind: ItemKind, id: string): string =>
  print(kind === 'sms' ? 'SMS' : kind === 'call' ? 'DID' : 'WPN', id)

/** Fields of a conversation that are the same for all readers. */
export type SharedConversation = Omit<PresentedConversation, 'unread' | 'channels'>

/** Presents conversations as all readers see them: without what they have read, and without channels. */
export const presentShared = async (
  sql: Sql,
  account: string,
  rows: readonly ConversationRow[],
): Promise<SharedConversation[]> => {
  if (rows.length === 0) return []
  const ids = [...new Set(rows.flatMap(({ contact_id }) => contact_id ?? []))]
  const contacts = new Map(
    (ids.length > 0 ? await context.contacts(sql, account, ids) : []).map((row) => [row.id, row]),
  )
  const statuses = new Map((await context.lastStatuses(sql, account, rows)).map(({ id, status }) => [id, status]))
  return rows.map((row) => {
    const contact = row.contact_id === null ? undefined : contacts.get(row.contact_id)
    const contactName = contact ? fullName(contact) : ''
    const status = statuses.get(row.last_item)
    return {
      uuid: print('CNV', row.id),
      counterpart: row.counterpart,
      ...(row.group_id === null && !row.counterpart.startsWith('remote:')
        ? { number: row.number ?? row.counterpart }
        : {}),
      ...(row.group_id === null ? {} : { group_uuid: print('WAG', row.group_id) }),
      ...(contact
        ? {
            contact: {
              uuid: print('CON', contact.id),
              first_name: contact.first_name,
              last_name: contact.last_name,
              picture: contact.profile_pic_url,
            },
          }
        : {}),
      name: contactName || row.name,
      status: row.status,
      ...(row.assignee_id === null ? {} : { assignee_uuid: print('USR', row.assignee_id) }),
      priority: row.priority,
      tags: row.tags.map((tag) => print('TAG', tag)),
      ...(row.snoozed_until === null ? {} : { snoozed_until: iso(row.snoozed_until) }),
      snoozed_till_reply: row.snoozed_till_reply,
      ...(row.waiting_since === null ? {} : { waiting_since: iso(row.waiting_since) }),
      last: {
        item_uuid: printItem(row.last_kind, row.last_direction, row.last_item),
        kind: row.last_kind,
        ...(row.last_direction === null ? {} : { direction: row.last_direction }),
        text: row.last_text,
        at: iso(row.last_at),
        ...(status === undefined ? {} : { status }),
        ...(row.last_channel === null ? {} : { channel_uuid: printChannel(row.last_kind, row.last_channel) }),
      },
      version: row.version,
      created_at: iso(row.created_at),
    }
  })
}

type PresentedChannel = PresentedConversation['channels'][number]

const reasonOf = (
  row: ConversationRow,
  channel: context.ChannelRow,
  group: { joined: boolean } | undefined,
): PresentedChannel['reason'] | null => {
  if (!channel.enabled) return 'disabled'
  if (channel.suspended) return 'number_suspended'
  if (!channel.can_send) return 'inbound_only'
  if (channel.opted_out.includes(row.counterpart)) return 'opted_out'
  if (channel.kind === 'sms' && !row.counterpart.startsWith('+')) return 'not_supported'
  if (group && !group.joined) return 'not_joined'
  return channel.connected ? null : 'not_connected'
}

/** Returns the ids of the channels by which a counterpart can be reached, that of the last message first. */
const channelIds = (row: ConversationRow, all: readonly string[], groupChannel: string | undefined): string[] => {
  const [, hidden] = /^remote:([0-9a-f-]{36}):/.exec(row.counterpart) ?? []
  const only = groupChannel ?? hidden
  if (only !== undefined) return [only]
  const last = row.last_kind === 'call' || row.last_channel === null ? [] : [row.last_channel]
  return [...new Set([...last, ...all])].slice(0, shownChannels)
}

/** Presents channels of conversations. @param isWhole also those besides that of the last message */
const loadChannels = async (sql: Sql, account: string, rows: readonly ConversationRow[], isWhole: boolean) => {
  const inGroups = rows.flatMap(({ group_id }) => group_id ?? [])
  const groups = new Map(
    (inGroups.length > 0 ? await context.groups(sql, account, inGroups) : []).map((group) => [group.id, group]),
  )
  const all = isWhole ? await context.writableChannels(sql, account) : []
  const groupOf = ({ group_id }: ConversationRow) => (group_id === null ? undefined : groups.get(group_id))
  const channelsOf = new Map(rows.map((row) => [row.id, channelIds(row, all, groupOf(row)?.channel_id)]))
  const ids = [...new Set([...channelsOf.values()].flat())]
  const numbers = rows.map(({ counterpart }) => counterpart)
  const channels = new Map(
    (ids.length > 0 ? await context.channelsById(sql, account, ids, numbers) : []).map((channel) => [
      channel.id,
      channel,
    ]),
  )
  return (row: ConversationRow): PresentedChannel[] =>
    (channelsOf.get(row.id) ?? []).flatMap((id) => {
      const channel = channels.get(id)
      if (!channel) return []
      const reason = reasonOf(row, channel, groupOf(row))
      return [
        {
          channel_uuid: print(channel.kind === 'sms' ? 'SMS' : 'WPN', id),
          kind: channel.kind,
          phone_number: channel.phone_number,
          can_write: reason === null,
          ...(reason ? { reason } : {}),
        },
      ]
    })
}

/** Returns the number of unread items of each conversation. */
export const unreadOf = async (
  sql: Sql,
  { account, user }: Reader,
  rows: readonly Pick<ConversationRow, 'id' | 'last_inbound'>[],
): Promise<Map<string, number>> => {
  const ids = rows.flatMap(({ id, last_inbound }) => (last_inbound === null ? [] : [id]))
  if (ids.length === 0) return new Map()
  const after = await context.unreadAfter(sql, account, user)
  return new Map((await context.unreadCounts(sql, account, user, after, ids)).map(({ id, n }) => [id, n]))
}

/** Presents conversations to a reader. @param isWhole with all channels, for one conversation; else the last one */
export const presentConversations = async (
  sql: Sql,
  reader: Reader,
  rows: readonly ConversationRow[],
  isWhole = false,
): Promise<PresentedConversation[]> => {
  if (rows.length === 0) return []
  const shared = await presentShared(sql, reader.account, rows)
  const unread = await unreadOf(sql, reader, rows)
  const channels = await loadChannels(sql, reader.account, rows, isWhole)
  return rows.flatMap((row, i) => {
    const one = shared[i]
    return one ? [{ ...one, unread: unread.get(row.id) ?? 0, channels: channels(row) }] : []
  })
}
