import { startPoller } from '../lib/poller.ts'
import type { Db, Tx } from './sql.ts'
import { noWakeUps, type WakeUps } from './wake-ups.ts'

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

/** Milliseconds between polls. The first leaves 100 ms of the half second for the query. */
const pollMs = { fast: 400, safetyNet: 2_000 }

/** Marks a topic as changed: every process learns of it within half a second of the commit. */
export const invalidateTopic = (tx: Tx, topic: Topic) => tx.run`
  insert into changes (topic) values (${topic})
  on conflict (topic) do update set version = changes.version + 1`

/**
 * Follows the table `changes`. A trigger of the table notifies all processes; without notifications, a tiny query polls.
 * @param wakeUps absent: polls
 */
export const startInvalidationBus = async (
  db: Db,
  onError: (error: unknown) => void,
  wakeUps: WakeUps = noWakeUps,
): Promise<InvalidationBus> => {
  const effects = new Map<string, (() => void)[]>()
  const seen = new Map<string, number>()

  const fire = (topic: string) => {
    for (const effect of effects.get(topic) ?? []) effect()
  }

  /** Returns the topics that changed since the last look. */
  const look = async (): Promise<string[]> => {
    const rows = await db.many<{ topic: string; version: number }>`select topic, version from changes`
    const changed = rows.filter(({ topic, version }) => seen.get(topic) !== version)
    for (const { topic, version } of changed) seen.set(topic, version)
    return changed.map(({ topic }) => topic)
  }

  await look()
  const polls = startPoller({
    fastMs: pollMs.fast,
    slowMs: pollMs.safetyNet,
    wakeUps,
    look: async () => {
      const changed = await look()
      for (const topic of changed) fire(topic)
      return { isBusy: changed.length > 0 }
    },
    onError,
  })
  const unsubscribe = wakeUps.on('changes', polls.wake)

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
      unsubscribe()
      void polls.end()
    },
  }
}
