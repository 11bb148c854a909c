import { uuid } from '../../../platform/lib/id.ts'
import type { Channel } from '../channels/ops.ts'
import type { Chat } from '../chat-service.ts'
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
      ...{ account, id: uuid(), channel, connection, peer: peerOf(to), number: to, remote: null, group: null },
      ...{ text, pin: null, template: null, media: null },
    },
    null,
  )

/** Checks what the schema of a request cannot express. @throws the 400 Problem */
export const checkSendRequest = outbound.checkSendRequest

/** Sends a message as POST /open/msgapp/send-message does. */
export const sendMessage = outbound.sendMessage
