import { Type } from 'typebox'
import { Id } from '../../platform/http/schema.ts'

// Fields that the contracts of the inbox's folders share.

export const inbox = { auth: 'account', needs: 'inbox', shape: 'full', tag: 'Inbox' } as const

/** Path parameter of a conversation. */
export const oneConversation = { params: Type.Object({ conversation_uuid: Id('CNV') }) }
