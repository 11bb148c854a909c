import { Type } from 'typebox'
import { contract } from '../../../platform/http/endpoint.ts'
import { FreeText, Id, Named, Ok, Success, Time } from '../../../platform/http/schema.ts'
import { inbox } from '../endpoint-fields.ts'
import { maxOwnReplies, maxReplyLength, maxSharedReplies, maxShortcutLength } from '../limits.ts'

const CannedReply = Named(
  'CannedReply',
  Type.Object({
    uuid: Id('RPL'),
    shortcut: Type.String({ examples: ['parcel'] }),
    title: Type.String({ examples: ['The parcel is here'] }),
    text: Type.String({ examples: ['Hello {{first_name|there}}, your parcel is here. {{agent}}'] }),
    shared: Type.Boolean({ description: 'False: only its author sees it' }),
    filled: Type.Optional(
      Type.String({ description: 'With conversation_uuid: the text with values instead of its variables' }),
    ),
    updated_by: Type.Optional(Id('USR', 'Absent if a key changed it')),
    updated_at: Time,
  }),
)

const Shortcut = Type.String({
  pattern: '^[\\p{L}\\p{N}_-]+$',
  minLength: 1,
  maxLength: maxShortcutLength,
  description: 'Typed after / in the reply box: letters, digits, _ and -',
  examples: ['parcel'],
})
const Text = FreeText(
  maxReplyLength,
  'Variables: {{first_name}}, {{last_name}}, {{name}}, {{number}}, {{agent}}; each with a fallback after |, as in {{first_name|there}}',
)
const Shared = Type.Boolean({ description: 'For all agents; needs team_settings. Default: false' })
const oneReply = { params: Type.Object({ reply_uuid: Id('RPL') }) }
const unknown = 'No such reply that you may see'
const notYours = 'The reply is shared, and the key or session lacks team_settings (scope_missing, role)'
const taken = 'Another reply has this shortcut (shortcut_exists)'

export const listReplies = contract({
  ...inbox,
  id: 'listReplies',
  client: 'replies.list',
  method: 'GET',
  url: '/open/replies',
  summary: 'List canned replies: the shared ones and one’s own, by shortcut',
  description: `At most ${maxSharedReplies} shared and ${maxOwnReplies} own ones. With conversation_uuid, each is filled for its person.`,
  query: Type.Object({
    conversation_uuid: Type.Optional(Id('CNV', 'The conversation to fill the texts for')),
    channel_uuid: Type.Optional(
      Type.String({
        pattern: '^(?:SMS|WPN)',
        maxLength: 64,
        description: 'The channel whose number fills {{number}}. Default: the last one of the conversation',
      }),
    ),
  }),
  status: 200,
  reply: Ok({ replies: Type.Array(CannedReply) }),
  errors: { notFound: 'No such conversation or channel' },
})

export const createReply = contract({
  ...inbox,
  id: 'createReply',
  client: 'replies.create',
  method: 'POST',
  url: '/open/replies',
  summary: 'Create a canned reply',
  description: 'An unknown variable is refused, so that no customer reads {{frist_name}}.',
  body: Type.Object(
    { shortcut: Shortcut, title: FreeText(100), text: Text, shared: Type.Optional(Shared) },
    {
      examples: [
        { shortcut: 'parcel', title: 'The parcel is here', text: 'Hello {{first_name|there}}, your parcel is here' },
      ],
    },
  ),
  status: 201,
  reply: Ok({ reply: CannedReply }),
  errors: {
    forbidden: notYours,
    conflict: `${taken}, there are too many (too_many_replies), or the Idempotency-Key was used with another body`,
    unprocessable: 'The text has a variable that does not exist (unknown_variable)',
  },
})

export const changeReply = contract({
  ...inbox,
  ...oneReply,
  id: 'changeReply',
  client: 'replies.update',
  method: 'PATCH',
  url: '/open/replies/:reply_uuid',
  summary: 'Change a canned reply',
  description: 'Agents change their own ones; shared ones need team_settings.',
  body: Type.Object(
    {
      shortcut: Type.Optional(Shortcut),
      title: Type.Optional(FreeText(100)),
      text: Type.Optional(Text),
      shared: Type.Optional(Shared),
    },
    { examples: [{ title: 'The parcel is here' }] },
  ),
  status: 200,
  reply: Ok({ reply: CannedReply }),
  errors: {
    forbidden: notYours,
    notFound: unknown,
    conflict: taken,
    unprocessable: 'The text has a variable that does not exist (unknown_variable)',
  },
})

export const deleteReply = contract({
  ...inbox,
  ...oneReply,
  id: 'deleteReply',
  client: 'replies.delete',
  method: 'DELETE',
  url: '/open/replies/:reply_uuid',
  summary: 'Delete a canned reply',
  description: 'Agents delete their own ones; shared ones need team_settings.',
  status: 200,
  reply: Success,
  errors: { forbidden: notYours, notFound: unknown },
})
