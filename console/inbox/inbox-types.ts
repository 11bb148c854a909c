import type { Static } from 'typebox'
import type { getConversation, listItems } from '../../src/domains/inbox/contract.ts'
import type { listReplies } from '../../src/domains/inbox/replies/contract.ts'
import type { listTags } from '../../src/domains/inbox/tags/contract.ts'
import type { showTeam } from '../../src/domains/inbox/team/contract.ts'
import type { listViews } from '../../src/domains/inbox/views/contract.ts'

export type Conversation = Static<(typeof getConversation)['reply']>['conversation']
/** The conversation of a thread, as far as its items need it. */
export type ThreadTarget = { readonly uuid: string; readonly number: Conversation['number'] }
export type Item = Static<(typeof listItems)['reply']>['items'][number]
export type Channel = Conversation['channels'][number]
export type Tag = Static<(typeof listTags)['reply']>['tags'][number]
export type CannedReply = Static<(typeof listReplies)['reply']>['replies'][number]
export type SavedView = Static<(typeof listViews)['reply']>['views'][number]
export type Member = Static<(typeof showTeam)['reply']>['members'][number]
