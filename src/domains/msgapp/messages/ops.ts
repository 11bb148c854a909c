import { canonicalNumber } from '@trunkline/phone/number-forms.ts'
import type { Sql } from '../../../platform/db/sql.ts'
import { uuid } from '../../../platform/lib/id.ts'
import type { Channel } from '../channels/ops.ts'
import type { Chat } from '../chat-service.ts'
import { presentMessage } from './message-presenter.ts'
import * as rows from './message-query-store.ts'
import * as outbound from './outbound/send-message.ts'
import { peerOf } from './peer.ts'

/**
 * Sends a text from a channel to a number (E.164). Resolves once the message is durable.
 * @throws the 503 Problem
 */
export const sendText = (
  { accept }: Pick<Chat, 'accept'>,
  { account, id: channel, connection }: Channel,
  to: string,
  text: string,
): Promise<void> =>
  accept.message(
    {
      ...{ account, id: uuid(), channel, connection, peer: peerOf(to), remote: null, group: null },
      ...{ number: canonicalNumber(to), dialled: to, text, pin: null, template: null, media: null },
    },
    null,
  )

/** Returns messages of an account in the form of the API, by their bare ids. Deleted ones are absent. */
export const messagesById = async (
  sql: Sql,
  { loadViewContext }: Pick<Chat, 'loadViewContext'>,
  account: string,
  ids: readonly string[],
) => {
  const found = await rows.byId(
    sql,
    ids.map((id) => ({ account, id })),
  )
  const context = await loadViewContext(sql, found)
  return new Map(found.map((row) => [row.id, presentMessage(row, context)]))
}

/** Checks what the schema of a request cannot express. @throws the 400 Problem */
export const checkSendRequest = outbound.checkSendRequest

/** Sends a message as POST /open/msgapp/send-message does. */
export const sendMessage = outbound.sendMessage
