import { Type } from 'typebox'
import { contract } from '../../../platform/http/endpoint.ts'
import { Enum, FreeText, Id, Named, Ok, Success, Time } from '../../../platform/http/schema.ts'
import { inbox } from '../endpoint-fields.ts'
import { maxConversationTags, maxTagNameLength, maxTags } from '../limits.ts'
import { Conversation } from '../schemas.ts'

const colors = ['grey', 'red', 'orange', 'yellow', 'green', 'teal', 'blue', 'purple', 'pink'] as const

const Tag = Named(
  'Tag',
  Type.Object({
    uuid: Id('TAG'),
    name: Type.String({ examples: ['Parcels'] }),
    color: Enum([...colors]),
    created_at: Time,
  }),
)
const Name = FreeText(maxTagNameLength)
const Color = Enum([...colors], { description: 'Default: grey' })
const settings = { ...inbox, needs: 'team_settings' } as const
const oneTag = { params: Type.Object({ tag_uuid: Id('TAG') }) }
const unknown = 'No such tag of the account'
const taken = 'Another tag has this name (tag_exists)'

export const listTags = contract({
  ...inbox,
  id: 'listTags',
  client: 'tags.list',
  method: 'GET',
  url: '/open/tags',
  summary: 'List the tags of the account, by name',
  description: `An account has at most ${maxTags} tags.`,
  status: 200,
  reply: Ok({ tags: Type.Array(Tag) }),
  errors: {},
})

export const createTag = contract({
  ...settings,
  id: 'createTag',
  client: 'tags.create',
  method: 'POST',
  url: '/open/tags',
  summary: 'Create a tag for conversations',
  description: 'Names differ in more than letter case.',
  body: Type.Object({ name: Name, color: Type.Optional(Color) }, { examples: [{ name: 'Parcels', color: 'blue' }] }),
  status: 201,
  reply: Ok({ tag: Tag }),
  errors: {
    conflict: `${taken}, there are ${maxTags} already (too_many_tags), or the Idempotency-Key was used with another body`,
  },
})

export const changeTag = contract({
  ...settings,
  ...oneTag,
  id: 'changeTag',
  client: 'tags.update',
  method: 'PATCH',
  url: '/open/tags/:tag_uuid',
  summary: 'Change the name or color of a tag',
  description: 'Conversations keep the tag.',
  body: Type.Object({ name: Type.Optional(Name), color: Type.Optional(Color) }, { examples: [{ color: 'green' }] }),
  status: 200,
  reply: Ok({ tag: Tag }),
  errors: { notFound: unknown, conflict: taken },
})

export const deleteTag = contract({
  ...settings,
  ...oneTag,
  id: 'deleteTag',
  client: 'tags.delete',
  method: 'DELETE',
  url: '/open/tags/:tag_uuid',
  summary: 'Delete a tag, and take it from all conversations',
  description: 'Conversations lose it within seconds.',
  status: 200,
  reply: Success,
  errors: { notFound: unknown },
})

const tagging = {
  ...inbox,
  params: Type.Object({ conversation_uuid: Id('CNV'), tag_uuid: Id('TAG') }),
  url: '/open/conversations/:conversation_uuid/tags/:tag_uuid',
  status: 200,
  reply: Ok({ conversation: Conversation }),
} as const

export const addConversationTag = contract({
  ...tagging,
  id: 'addConversationTag',
  client: 'conversations.addTag',
  method: 'PUT',
  summary: 'Tag a conversation',
  description: `A conversation has at most ${maxConversationTags} tags.`,
  errors: { notFound: 'No such conversation or tag', conflict: 'The conversation has too many tags (too_many_tags)' },
})

export const removeConversationTag = contract({
  ...tagging,
  id: 'removeConversationTag',
  client: 'conversations.removeTag',
  method: 'DELETE',
  summary: 'Take a tag from a conversation',
  description: 'Without effect if the conversation does not have it.',
  errors: { notFound: 'No such conversation or tag' },
})
