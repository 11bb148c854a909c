import type { ChatMediaType, ChatPin, ChatTemplate } from '../../connectors/message-port.ts'
import type { Sql } from '../../db/sql.ts'
import { iso } from '../../lib/clock.ts'
import { print } from '../../lib/id.ts'
import { sessionKey } from './peer.ts'

/** A row of the view `msgapp_shown`. */
export type MessageRow = {
  account_id: string
  id: string
  channel_id: string
  peer: string
  direction: 'inbound' | 'outbound'
  sent_by: 'user' | 'api' | 'agent'
  author: string | null
  text: string | null
  pin: ChatPin | null
  template: ChatTemplate | null
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

/** A contact as messages carry it. */
export type KnownContact = { uuid: string; first_name: string; last_name: string; profile_pic_url: string | null }

/** What a message is shown with beside its row. */
export type Around = {
  /** A link to a file, good for a while. */
  readonly link: (account: string, media: string) => string
  readonly contact: (account: string, number: string) => KnownContact | null
}

/** Looks up what these messages are shown with. */
export type Surroundings = (sql: Sql, rows: readonly MessageRow[]) => Promise<Around>

const file = (row: MessageRow, { link }: Around) =>
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

/** The number at the other end: of a group who wrote, and nobody of what we wrote there. */
export const remoteNumber = ({ group_id, author, remote_number }: MessageRow): string | null => {
  if (group_id === null) return remote_number
  return author?.startsWith('+') ? author : null
}

const remote = (row: MessageRow, { contact }: Around) => {
  const number = remoteNumber(row)
  const id = row.group_id === null ? row.remote_id : row.author
  const known = number === null ? null : contact(row.account_id, number)
  return {
    ...(number === null ? (id === null ? {} : { remote_id: id }) : { remote_phone_number: number }),
    ...(known ? { contact: known } : {}),
  }
}

/** Who wrote a message, where the number is known. */
const participant = (row: MessageRow) => {
  const number = row.direction === 'outbound' ? row.channel_number : remoteNumber(row)
  return number === null ? {} : { participant: { phone_number: number } }
}

const reactions = (given: NonNullable<MessageRow['reactions']>) =>
  Object.entries(given).flatMap(([by, { emoji, at }]) => (emoji === null ? [] : [{ by, reaction: emoji, at: iso(at) }]))

const shownTemplate = ({ name, language, parameters, components }: ChatTemplate) => ({
  name,
  language,
  ...(parameters ? { parameters: [...parameters] } : {}),
  ...(components ? { components: components.map((one) => ({ ...one })) } : {}),
})

/** A message as the interface prints it (interface.md 2.17). */
export const shownMessage = (row: MessageRow, around: Around) => {
  const shownReactions = row.reactions ? reactions(row.reactions) : []
  return {
    id: print('MSG', row.id),
    uuid: print('MSG', row.id),
    channel_uuid: print('WPN', row.channel_id),
    timestamp: iso(row.at),
    session_key: sessionKey(row.channel_id, row.peer),
    message: {
      ...(row.text === null ? {} : { text: row.text }),
      ...file(row, around),
      ...(row.pin ? { pin: row.pin } : {}),
      ...(row.template ? { template: shownTemplate(row.template) } : {}),
    },
    created_at: iso(row.created_at),
    ...remote(row, around),
    ...participant(row),
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
