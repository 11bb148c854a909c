import type { Session, SessionWatcher } from './session.ts'

/** Returns the rights of a session and the names of its person as text, for comparison. */
const stateOf = ({ operator, person, accounts }: Session): string =>
  JSON.stringify([
    operator?.role,
    person?.name,
    accounts.map(({ account, key, role, lacksFactor, userName }) => [
      ...[account.id, account.blocked, key.scopes, role, lacksFactor, userName],
    ]),
  ])

/** A session with the pages that follow it. */
type WatchedSession = { session: Session; readonly watchers: Set<SessionWatcher> }

/**
 * Reports the end of sessions, and changes of their rights and names.
 * @param read returns the current state of a session; null if it ended
 */
export const makeSessionWatch = (read: (id: string) => Promise<Session | null>, onError: (error: unknown) => void) => {
  const watched = new Map<string, WatchedSession>()
  let isChecking = false
  let isStale = false

  /** Ends a watched session, or reports its new state. */
  const update = (id: string, fresh: Session | null) => {
    const before = watched.get(id)
    if (!before) return
    const isSame = fresh !== null && stateOf(fresh) === stateOf(before.session)
    if (fresh === null) watched.delete(id)
    else before.session = fresh
    if (isSame) return
    for (const watcher of before.watchers)
      if (fresh === null) watcher.onEnd()
      else watcher.onChange(fresh)
  }

  const checkWatched = async (): Promise<void> => {
    isChecking = true
    try {
      while (isStale) {
        isStale = false
        for (const id of [...watched.keys()]) update(id, await read(id))
      }
    } finally {
      isChecking = false
    }
  }

  return {
    ids: (): string[] => [...watched.keys()],
    /** Reads all watched sessions again. */
    check: (): void => {
      if (watched.size === 0) return
      isStale = true
      if (!isChecking) checkWatched().catch(onError)
    },
    end: (id: string): void => update(id, null),
    watch: (session: Session, watcher: SessionWatcher): (() => void) => {
      const entry = watched.get(session.id) ?? { session, watchers: new Set() }
      watched.set(session.id, entry)
      entry.watchers.add(watcher)
      return () => {
        entry.watchers.delete(watcher)
        if (entry.watchers.size === 0 && watched.get(session.id) === entry) watched.delete(session.id)
      }
    },
  }
}
