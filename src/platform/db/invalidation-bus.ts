import type { Db, Tx } from './sql.ts'

/** Data that processes cache and must read again when it changes in the database. */
export type Topic =
  | 'accounts'
  | 'users'
  | 'sessions'
  | 'clock'
  | 'prices'
  | 'connections'
  | 'connection-requests'
  | 'numbers'
  | 'suppliers'
  | 'signing-keys'
  | 'tokens'
  | 'purchases'
  | 'webhooks'
  | 'msgapp'
  | 'calls'
  | 'sendings'

export type InvalidationBus = {
  /** Calls `effect` after every change of the topic, made here or by another process. */
  on(topic: Topic, effect: () => void): void
  /** Marks the topic as changed: here at once after the commit, in other processes within half a second. */
  invalidate(tx: Tx, topic: Topic): Promise<void>
  /**
   * Calls the effects only in this process, after the commit: for effects that need not be certain and must not
   * serialise commits.
   */
  invalidateLocally(tx: Tx, topic: Topic): void
  stop(): void
}

/** Leaves 100 ms of the half second for the query. */
const pollMs = 400

/** Marks a topic as changed: every process learns of it within half a second of the commit. */
export const invalidateTopic = (tx: Tx, topic: Topic) => tx.run`
  insert into changes (topic) values (${topic})
  on conflict (topic) do update set version = changes.version + 1`

/** Polls with a tiny query instead of LISTEN, which distributed engines lack and which serialises commits. */
export const startInvalidationBus = async (db: Db, onError: (error: unknown) => void): Promise<InvalidationBus> => {
  const effects = new Map<string, (() => void)[]>()
  const seen = new Map<string, number>()
  let stopped = false
  let timer: NodeJS.Timeout

  const fire = (topic: string) => {
    for (const effect of effects.get(topic) ?? []) effect()
  }

  const look = async (quiet: boolean) => {
    for (const { topic, version } of await db.many<{
      topic: string
      version: number
    }>`select topic, version from changes`) {
      if (seen.get(topic) === version) continue
      seen.set(topic, version)
      if (!quiet) fire(topic)
    }
  }

  const again = () => {
    if (stopped) return
    timer = setTimeout(() => look(false).catch(onError).finally(again), pollMs)
    timer.unref()
  }

  await look(true)
  again()

  return {
    on: (topic, effect) => {
      effects.set(topic, [...(effects.get(topic) ?? []), effect])
    },
    invalidate: async (tx, topic) => {
      await invalidateTopic(tx, topic)
      tx.afterCommit(() => fire(topic))
    },
    invalidateLocally: (tx, topic) => tx.afterCommit(() => fire(topic)),
    stop: () => {
      stopped = true
      clearTimeout(timer)
    },
  }
}
