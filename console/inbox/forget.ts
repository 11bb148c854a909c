import { session } from '../api/session.ts'
import { type Draft, type DraftKind, draftPrefix, storeDraft } from './drafts.ts'
import { forgetOutgoing, storedOutgoing } from './outbox-store.ts'

// Texts that this browser holds for the person who leaves: the next person at it must not find them.

type StoredDraft = { readonly key: string; readonly draft: Draft }

const usersOf = (): ReadonlySet<string> =>
  new Set(['', ...(session.peek()?.accounts ?? []).map(({ user_uuid }) => user_uuid ?? '')])

const storedDrafts = (users: ReadonlySet<string>): readonly StoredDraft[] => {
  try {
    return Object.keys(localStorage)
      .filter((key) => key.startsWith(draftPrefix) && users.has(key.slice(draftPrefix.length).split('.')[1] ?? ''))
      .map((key) => ({ key, draft: JSON.parse(localStorage.getItem(key) ?? '{}') as Draft })) // as drafts.ts stores it
  } catch {
    return []
  }
}

/** Saves drafts that the server does not have. Returns the function that removes all texts from this browser. */
export const prepareToForget = async (): Promise<() => Promise<void>> => {
  const users = usersOf()
  const drafts = storedDrafts(users)
  const unsaved = drafts.filter(({ draft }) => !draft.isSaved)
  await Promise.allSettled(
    unsaved.map(({ key, draft }) => {
      const [account = '', , conversation = '', kind] = key.slice(draftPrefix.length).split('.')
      return storeDraft(conversation, kind as DraftKind, draft, account) // the last part of each key
    }),
  )
  return async () => {
    for (const { key } of storedDrafts(users)) localStorage.removeItem(key)
    const stored = await storedOutgoing()
    await Promise.all(stored.filter(({ user }) => users.has(user)).map(({ id }) => forgetOutgoing(id)))
  }
}
