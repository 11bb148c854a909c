import { Type } from 'typebox'
import { contract } from '../../../platform/http/endpoint.ts'
import { Enum, Named, Ok, Success, Time } from '../../../platform/http/schema.ts'
import { inbox, oneConversation } from '../endpoint-fields.ts'
import { maxDraftLength } from '../limits.ts'
import { ItemId } from '../schemas.ts'

const fields = {
  channel_uuid: Type.Optional(
    Type.String({
      pattern: '^(?:SMS|WPN)',
      maxLength: 64,
      description: 'The channel that the writer has chosen',
      examples: ['SMS01a1fcca-93ab-7cbc-9f10-be702f775479'],
    }),
  ),
  reply_to: Type.Optional(ItemId('The message that is answered')),
}
const Kind = Enum(['message', 'note'], { description: 'Default: message' })

const Draft = Named(
  'Draft',
  Type.Object({ kind: Enum(['message', 'note']), text: Type.String(), ...fields, updated_at: Time }),
)
const query = Type.Object({ kind: Type.Optional(Kind) })
const unknown = 'No such conversation'

export const getDraft = contract({
  ...inbox,
  ...oneConversation,
  id: 'getDraft',
  client: 'drafts.get',
  method: 'GET',
  url: '/open/conversations/:conversation_uuid/draft',
  summary: 'Own text of a conversation, written and not sent',
  description: 'Drafts of colleagues are never shown. Keys of the account share theirs.',
  query,
  status: 200,
  reply: Ok({ draft: Type.Optional(Draft) }),
  errors: { notFound: unknown },
})

export const saveDraft = contract({
  ...inbox,
  ...oneConversation,
  id: 'saveDraft',
  unrecorded: true,
  client: 'drafts.save',
  method: 'PUT',
  url: '/open/conversations/:conversation_uuid/draft',
  summary: 'Store what oneself has written in a conversation and not sent',
  description: 'Replaces the draft of the same kind. An empty text deletes it.',
  body: Type.Object(
    { kind: Type.Optional(Kind), text: Type.String({ maxLength: maxDraftLength }), ...fields },
    { examples: [{ text: 'Your parcel is' }] },
  ),
  status: 200,
  reply: Ok({ draft: Type.Optional(Draft) }),
  errors: { notFound: unknown },
})

export const deleteDraft = contract({
  ...inbox,
  ...oneConversation,
  id: 'deleteDraft',
  unrecorded: true,
  client: 'drafts.delete',
  method: 'DELETE',
  url: '/open/conversations/:conversation_uuid/draft',
  summary: 'Delete one’s own draft in a conversation',
  description: 'Without effect if there is none.',
  query,
  status: 200,
  reply: Success,
  errors: { notFound: unknown },
})
