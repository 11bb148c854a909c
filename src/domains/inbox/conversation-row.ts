import type { itemKinds, statuses } from './schemas.ts'

export type Status = (typeof statuses)[number]
export type ItemKind = (typeof itemKinds)[number]

/** A row of `conversations`. Ids have no prefix. */
export type ConversationRow = {
  account_id: string
  id: string
  /** A number in its canonical form. */
  counterpart: string
  /** The form in which a network or a person gave the number, which is dialled; null: the counterpart. */
  number: string | null
  group_id: string | null
  contact_id: string | null
  name: string
  status: Status
  assignee_id: string | null
  priority: number
  tags: string[]
  snoozed_until: Date | null
  snoozed_till_reply: boolean
  last_at: Date
  last_item: string
  last_kind: ItemKind
  last_direction: 'inbound' | 'outbound' | null
  last_text: string
  last_channel: string | null
  last_inbound: string | null
  waiting_since: Date | null
  first_reply_at: Date | null
  closed_at: Date | null
  items_before: string | null
  version: number
  created_at: Date
}
