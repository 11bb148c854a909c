import type { Sql } from '../../../platform/db/sql.ts'
import { iso } from '../../../platform/lib/clock.ts'
import { print } from '../../../platform/lib/id.ts'
import type { ChatLocation, ChatMediaType, ChatTemplate } from '../../../ports/chat-message.ts'
import { type FindQuoted, presentContent, type StoredContent } from './content-presenter.ts'
import { sessionKey } from './peer.ts'

/** A row of the view `msgapp_visible_messages`. */
export type MessageRow = {
  account_id: string
  id: string
  channel_id: string
  peer: string
  direction: 'inbound' | 'outbound'
  sent_by: 'user' | 'api' | 'agent'
  author: string | null
  text: string | null
  pin: ChatLocation | null
  template: ChatTemplate | null
  content: StoredContent | null
  network_id: string | null
  at: Date
  ack: number
  failure_code: string | null
  failure_reason: string | null
  read_at: Date | null
  edited_at: Date | null
  reactions: { [by: string]: { emoji: string | null; at: number } } | null
  created_at: Date
  channel_number: string
  remote_number: string | null
  remote_id: string | null
  pushname: string | null
  group_id: string | null
  group_network_id: string | null
  media_id: string | null
  media_type: ChatMediaType | null
  media_mime_type: string | null
  media_name: string | null
  media_size: number | null
  media_error: string | null
}

/** A contact in the form that messages carry. */
export type KnownContact = { uuid: string; first_name: string; last_name: string; profile_pic_url: string | null }

/** Data that a message is presented with. */
export type ViewContext = {
  /** Returns a temporary link to a file. */
  readonly link: (account: string, media: string) => string
  readonly contact: (account: string, number: string) => KnownContact | null
  readonly quoted: FindQuoted
}

/** Looks up the data that these messages are presented with. */
export type ViewContextLoader = (sql: Sql, rows: readonly MessageRow[]) => Promise<ViewContext>

const presentFile = (row: MessageRow, { link }: ViewContext) =>
  row.media_id === null
    ? {}
    : {
        media: {
          ...(row.media_error === null ? { url: link(row.account_id, row.media_id) } : { error: row.media_error }),
          type: row.media_type ?? 'document',
          mime_type: row.media_mime_type ?? 'application/octet-stream',
          ...(row.media_name ? { name: row.media_name } : {}),
          ...(row.media_size === null ? {} : { size: row.media_size }),
        },
      }

/** Returns the other party's number: in a group the author's, and none for our own messages. */
export const remoteNumber = ({ group_id, author, remote_number }: MessageRow): string | null => {
  if (group_id === null) return remote_number
  return author?.startsWith('+') ? author : null
}

const presentRemote = (row: MessageRow, { contact }: ViewContext) => {
  const number = remoteNumber(row)
  const id = row.group_id === null ? row.remote_id : row.author
  const known = number === null ? null : contact(row.account_id, number)
  return {
    ...(number === null ? (id === null ? {} : { remote_id: id }) : { remote_phone_number: number }),
    ...(known ? { contact: known } : {}),
  }
}

/** The author of a message in a group, if the number is known. Clients recognise groups by the field. */
const presentParticipant = (row: MessageRow) => {
  if (row.group_id === null) return {}
  const number = row.direction === 'outbound' ? row.channel_number : remoteNumber(row)
  return number === null ? {} : { participant: { phone_number: number } }
}

const presentReactions = (reactions: NonNullable<MessageRow['reactions']>) =>
  Object.entries(reactions).flatMap(([by, { emoji, at }]) =>
    emoji === null ? [] : [{ by, reaction: emoji, at: iso(at) }],
  )

const presentTemplate = ({ name, language, parameters, components }: ChatTemplate) => ({
  name,
  language,
  ...(parameters ? { parameters: [...parameters] } : {}),
  ...(components ? { components: components.map((one) => ({ ...one })) } : {}),
})

/** Maps a message to its API form (interface.md 2.17). */
export const presentMessage = (row: MessageRow, context: ViewContext) => {
  const shownReactions = row.reactions ? presentReactions(row.reactions) : []
  const content = presentContent(row, context.quoted)
  return {
    id: print('MSG', row.id),
    uuid: print('MSG', row.id),
    channel_uuid: print('WPN', row.channel_id),
    timestamp: iso(row.at),
    session_key: sessionKey(row.channel_id, row.peer),
    message: {
      ...(row.text === null ? {} : { text: row.text }),
      ...presentFile(row, context),
      ...(row.pin ? { pin: row.pin } : {}),
      ...(row.template ? { template: presentTemplate(row.template) } : {}),
      ...(content ? { content } : {}),
    },
    created_at: iso(row.created_at),
    ...presentRemote(row, context),
    ...presentParticipant(row),
    channel_phone_number: row.channel_number,
    ...(row.group_id ? { group_uuid: print('WAG', row.group_id) } : {}),
    ...(row.group_network_id ? { wa_group_id: row.group_network_id } : {}),
    sent_by: row.sent_by,
    is_from_flow_run: false,
    is_from_api: row.sent_by === 'api',
    is_from_chatter: row.sent_by === 'user',
    is_from_agent: row.sent_by === 'agent',
    ...(row.network_id ? { wa_msg_id: row.network_id } : {}),
    wa_msg_ack: row.ack,
    sent: row.ack >= 1,
    received: row.ack >= 2,
    read: row.ack >= 3,
    ...(row.read_at ? { read_at: iso(row.read_at) } : {}),
    ...(row.failure_code ? { failure: { code: row.failure_code, reason: row.failure_reason ?? '' } } : {}),
    ...(row.edited_at ? { edited_at: iso(row.edited_at) } : {}),
    ...(shownReactions.length > 0 ? { reactions: shownReactions } : {}),
  }
}
