import { Type } from 'typebox'
import { contract } from '../../../platform/http/endpoint.ts'
import { Id, Ok } from '../../../platform/http/schema.ts'
import { sendMessage } from '../../msgapp/messages/contract.ts'
import { inbox, oneConversation } from '../endpoint-fields.ts'
import { maxMessageLength } from '../limits.ts'
import { ConversationItem, ItemId } from '../schemas.ts'

/** Compared by its time: the item may be one that the inbox is about to take in. */
const SeenId = (description: string) =>
  Type.String({
    pattern: '^[A-Z]{3}[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$',
    maxLength: 64,
    description,
    examples: ['SMI01a1fcca-93ab-7cbc-9f10-be702f775479'],
  })

export const sendConversationMessage = contract({
  ...inbox,
  ...oneConversation,
  id: 'sendConversationMessage',
  client: 'conversations.send',
  method: 'POST',
  url: '/open/conversations/:conversation_uuid/messages',
  summary: 'Answer in a conversation, by SMS or on the messaging app',
  description:
    'The message is priced, charged and sent as by POST /open/sms/send or POST /open/msgapp/send-message. ' +
    'With seen, it is refused when something newer came in or a colleague wrote. Repeat safely with an Idempotency-Key.',
  body: Type.Object(
    {
      channel_uuid: Type.String({
        pattern: '^(?:SMS|WPN)',
        maxLength: 64,
        description: 'The SMS channel or channel of the messaging app to send from: one of conversation.channels',
        examples: ['SMS01a1fcca-93ab-7cbc-9f10-be702f775479'],
      }),
      text: Type.Optional(
        Type.String({
          maxLength: maxMessageLength,
          description: 'On the messaging app at most 4,096 characters',
          examples: ['Your parcel is here'],
        }),
      ),
      media_uuid: Type.Optional(Id('MED', 'A file of POST /open/media; only on the messaging app')),
      template: sendMessage.body.properties.template,
      reply_to: Type.Optional(ItemId('The message that is answered, where the network can quote')),
      send_at: Type.Optional(
        Type.String({
          format: 'date-time',
          maxLength: 40,
          description: 'Only by SMS: sent at this time, at most a year ahead',
        }),
      ),
      seen: Type.Optional(SeenId('Id of the newest item that the sender has seen')),
      seen_answer: Type.Optional(
        SeenId(
          'Id of the newest outbound item that the sender has seen: an answer may come in after a message with a later id. Default: seen',
        ),
      ),
      anyway: Type.Optional(Type.Boolean({ description: 'Send even if something newer than seen exists' })),
      close: Type.Optional(Type.Boolean({ description: 'Close the conversation with the message' })),
      assign_me: Type.Optional(
        Type.Boolean({ description: 'Assign the conversation to the sender. Without effect for a key' }),
      ),
    },
    { examples: [{ channel_uuid: 'SMS01a1fcca-93ab-7cbc-9f10-be702f775479', text: 'Your parcel is here' }] },
  ),
  status: 202,
  reply: Ok({ item: ConversationItem }),
  faults: Type.Object({
    items: Type.Optional(
      Type.Array(ConversationItem, {
        description: 'With conversation_moved: what is newer than seen, newest first, at most 20',
      }),
    ),
  }),
  codes: {
    forbidden: ['opted_out', 'number_suspended', 'sandbox_number'],
    conflict: ['conversation_moved', 'group_pending'],
    unprocessable: ['a2p_us_unsupported', 'destination_not_priced', 'own_number', 'no_content', 'no_recipient'],
  },
  errors: {
    balance:
      'The balance does not cover the message (insufficient_balance), the key may spend no more today (key_spend_limit), or the quota of API calls is used up',
    notFound: 'No such conversation, channel or file',
    notSupported:
      'The channel or its network cannot do this; or the network accepts only templates, as the person did not write in the last 24 hours (not_supported)',
    conflict:
      'Something newer than seen exists (conversation_moved), or the Idempotency-Key was used with another body',
    unprocessable: 'The message has no content, or its recipient or destination is not possible on this channel',
  },
})
