import { api } from '../api/client.ts'
import { session } from '../api/session.ts'
import { forgetOutgoing, storedOutgoing } from './outbox-store.ts'
import type { Draft, DraftKind } from './saved-drafts.ts'

// Texts that this browser holds for the person who leaves: the next person at it must not find them.

/** As in saved-drafts.ts, which this file does not load: it is a part of the list's own file. */
const draftPrefix = 'trunkline.draft.'

type StoredDraft = { readonly key: string; readonly draft: Draft }

const storeDraft = async (key: string, { text, channel }: Draft): Promise<void> => {
  const [account = '', , conversation_uuid = '', last] = key.slice(draftPrefix.length).split('.')
  const params = { conversation_uuid }
  const kind = last as DraftKind // the last part of each key
  if (text === '')
    await api('DELETE /open/conversations/:conversation_uuid/draft', { params, query: { kind } }, { account })
  else {
    const body = { kind, text, ...(channel ? { channel_uuid: channel } : {}) }
    await api('PUT /open/conversations/:conversation_uuid/draft', { params, body }, { account })
  }
}

const usersOf = (): ReadonlySet<string> =>
  new Set(['', ...(session.peek()?.accounts ?? []).map(({ user_uuid }) => user_uuid ?? '')])

const storedDrafts = (users: ReadonlySet<string>): readonly StoredDraft[] => {
  try {
    return Object.keys(localStorage)
      .filter((key) => key.startsWith(draftPrefix) && users.has(key.slice(draftPrefix.length).split('.')[1] ?? ''))
      .map((key) => ({ key, draft: JSON.parse(localStorage.getItem(key) ?? '{}') as Draft })) // as saved-drafts.ts stores it
  } catch {
    return []
  }
}

/** Saves drafts that the server does not have. Returns the function that removes all texts from this browser. */
export const prepareToForget = async (): Promise<() => Promise<void>> => {
  const users = usersOf()
  const drafts = storedDrafts(users)
  const unsaved = drafts.filter(({ draft }) => !draft.isSaved)
  await Promise.allSettled(unsaved.map(({ key, draft }) => storeDraft(key, draft)))
  return async () => {
    for (const { key } of storedDrafts(users)) localStorage.removeItem(key)
    const stored = await storedOutgoing()
    await Promise.all(stored.filter(({ user }) => users.has(user)).map(({ id }) => forgetOutgoing(id)))
  }
}
