import { api, type RequestOf } from '../api/client.ts'
import { asApiError } from '../api/errors.ts'
import { newIdempotencyKey } from '../api/send.ts'
import { showToast } from '../parts/toast.tsx'
import { words } from '../words/en/inbox.ts'
import { shortTime } from '../words/format.ts'
import { markRead } from './inbox-reader.ts'
import {
  changeAtOnce,
  type OptimisticFields,
  peekConversation,
  putConversations,
  readers,
  threadOf,
} from './inbox-store.ts'

// Acts of a person on a conversation. The page shows it at once; a refusal brings the old state back and says why.

type Change = NonNullable<RequestOf<'PATCH /open/conversations/:conversation_uuid'>['body']>

const fail = (undo: () => void, thrown: unknown): false => {
  undo()
  showToast(asApiError(thrown).message, 'bad')
  return false
}

/** Changes a conversation. Resolves false after a refusal. */
const change = async (uuid: string, body: Change, shown: OptimisticFields): Promise<boolean> => {
  const undo = changeAtOnce(uuid, shown)
  try {
    const { conversation } = await api('PATCH /open/conversations/:conversation_uuid', {
      params: { conversation_uuid: uuid },
      body,
    })
    putConversations([conversation])
    readers.threads([uuid])
    return true
  } catch (thrown) {
    return fail(undo, thrown)
  }
}

export const reopenConversation = (uuid: string): Promise<boolean> =>
  change(uuid, { status: 'open' }, { status: 'open', snoozed_until: undefined, snoozed_till_reply: false })

export const closeConversation = async (uuid: string): Promise<void> => {
  const isDone = await change(uuid, { status: 'closed' }, { status: 'closed', snoozed_till_reply: false })
  if (isDone)
    showToast(words.acts.closed, 'good', { text: words.acts.undo, onClick: () => void reopenConversation(uuid) })
}

/** @param until ISO 8601, or null: until they reply */
export const snoozeConversation = async (uuid: string, until: string | null): Promise<void> => {
  const isDone = await change(uuid, until === null ? { snoozed_till_reply: true } : { snoozed_until: until }, {
    status: 'snoozed',
    snoozed_until: until ?? undefined,
    snoozed_till_reply: until === null,
  })
  const when = until === null ? words.list.snoozedReply : words.list.snoozedUntil(shortTime(until))
  if (isDone)
    showToast(words.acts.snoozed(when), 'good', {
      text: words.acts.undo,
      onClick: () => void reopenConversation(uuid),
    })
}

/** @param user undefined: nobody */
export const assignConversation = (uuid: string, user: string | undefined): Promise<boolean> =>
  change(uuid, { assignee_uuid: user ?? null }, { assignee_uuid: user })

export const setPriority = (uuid: string, priority: number): Promise<boolean> =>
  change(uuid, { priority }, { priority })

export const toggleTag = async (uuid: string, tag: string): Promise<void> => {
  const tags = peekConversation(uuid)?.tags ?? []
  const has = tags.includes(tag)
  const undo = changeAtOnce(uuid, { tags: has ? tags.filter((each) => each !== tag) : [...tags, tag] })
  const params = { conversation_uuid: uuid, tag_uuid: tag }
  try {
    const { conversation } = has
      ? await api('DELETE /open/conversations/:conversation_uuid/tags/:tag_uuid', { params })
      : await api('PUT /open/conversations/:conversation_uuid/tags/:tag_uuid', { params })
    putConversations([conversation])
    readers.threads([uuid])
  } catch (thrown) {
    fail(undo, thrown)
  }
}

/** Conversations that the person marked as unread: they stay so until they are opened again. */
export const unreadMarks = new Set<string>()

export const markUnread = async (uuid: string): Promise<void> => {
  unreadMarks.add(uuid)
  const undo = changeAtOnce(uuid, { unread: Math.max(1, peekConversation(uuid)?.unread ?? 0) })
  try {
    const { unread } = await api('POST /open/conversations/:conversation_uuid/read', {
      params: { conversation_uuid: uuid },
      body: { unread: true },
    })
    changeAtOnce(uuid, { unread })
  } catch (thrown) {
    fail(undo, thrown)
  }
}

/** Marks what is shown as read. */
export const markShownRead = (uuid: string): void => {
  const last = threadOf(uuid).peek()?.items.at(-1)
  if (!last || unreadMarks.has(uuid) || (peekConversation(uuid)?.unread ?? 0) === 0) return
  changeAtOnce(uuid, { unread: 0 })
  void markRead(uuid, last.uuid)
}

/** Opens the conversation with a number, which begins if there is none. Throws ApiError. */
export const beginConversation = async (number: string): Promise<string> => {
  const { conversation } = await api(
    'POST /open/conversations',
    { body: { number } },
    { idempotencyKey: newIdempotencyKey() },
  )
  putConversations([conversation])
  return conversation.uuid
}

/** Writes a note. Throws ApiError. */
export const writeNote = async (uuid: string, text: string, mentions: readonly string[], key: string) => {
  const { item } = await api(
    'POST /open/conversations/:conversation_uuid/notes',
    {
      params: { conversation_uuid: uuid },
      body: { text, ...(mentions.length > 0 ? { mentions: [...mentions] } : {}) },
    },
    { idempotencyKey: key },
  )
  return item
}
