import type { ReplyOf } from '../api/client.ts'

export type Conversation = ReplyOf<'GET /open/conversations/:conversation_uuid'>['conversation']
export type Item = ReplyOf<'GET /open/conversations/:conversation_uuid/items'>['items'][number]
export type Channel = Conversation['channels'][number]
export type Tag = ReplyOf<'GET /open/tags'>['tags'][number]
export type CannedReply = ReplyOf<'GET /open/replies'>['replies'][number]
export type SavedView = ReplyOf<'GET /open/views'>['views'][number]
export type Member = ReplyOf<'GET /open/team'>['members'][number]
