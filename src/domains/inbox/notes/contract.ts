import { Type } from 'typebox'
import { contract } from '../../../platform/http/endpoint.ts'
import { FreeText, Id, Ok, Success } from '../../../platform/http/schema.ts'
import { inbox, oneConversation } from '../endpoint-fields.ts'
import { maxMentions, maxNoteLength } from '../limits.ts'
import { ConversationItem } from '../schemas.ts'

const Mentions = Type.Array(Id('USR'), {
  maxItems: maxMentions,
  description: 'Active users of the account who are to be notified',
})
const oneNote = { params: Type.Object({ note_uuid: Id('NTE') }) }
const unknown = 'No such note, or it was deleted'
const notYours = 'The note is of somebody else, and the key or session lacks team_settings (scope_missing, role)'

export const createNote = contract({
  ...inbox,
  ...oneConversation,
  id: 'createNote',
  client: 'notes.create',
  method: 'POST',
  url: '/open/conversations/:conversation_uuid/notes',
  summary: 'Write a note into a conversation, for colleagues only',
  description: 'Published as conversation.note.created with the users that it mentions.',
  body: Type.Object(
    { text: FreeText(maxNoteLength), mentions: Type.Optional(Mentions) },
    { examples: [{ text: 'Called back' }] },
  ),
  status: 201,
  reply: Ok({ item: ConversationItem }),
  errors: { notFound: 'No such conversation, or a mentioned user is not an active user of the account' },
})

export const changeNote = contract({
  ...inbox,
  ...oneNote,
  id: 'changeNote',
  client: 'notes.update',
  method: 'PATCH',
  url: '/open/notes/:note_uuid',
  summary: 'Change a note: one’s own, or any with team_settings',
  description: 'Users that are mentioned for the first time are published as conversation.note.created.',
  body: Type.Object(
    { text: Type.Optional(FreeText(maxNoteLength)), mentions: Type.Optional(Mentions) },
    { examples: [{ text: 'Called twice' }] },
  ),
  status: 200,
  reply: Ok({ item: ConversationItem }),
  errors: { notFound: unknown, forbidden: notYours },
})

export const deleteNote = contract({
  ...inbox,
  ...oneNote,
  id: 'deleteNote',
  client: 'notes.delete',
  method: 'DELETE',
  url: '/open/notes/:note_uuid',
  summary: 'Delete a note: one’s own, or any with team_settings',
  description: 'Its text is gone. The thread still shows that there was a note.',
  status: 200,
  reply: Success,
  errors: { notFound: unknown, forbidden: notYours },
})
