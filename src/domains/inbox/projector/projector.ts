import type { Logger } from 'pino'
import type { Db, Tx } from '../../../platform/db/sql.ts'
import { isUnavailable } from '../../../platform/db/sql.ts'
import { noWakeUps, type WakeUps } from '../../../platform/db/wake-ups.ts'
import { makeTurns } from '../../../platform/jobs/turns.ts'
import { idAt, parse } from '../../../platform/lib/id.ts'
import { startPoller } from '../../../platform/lib/poller.ts'
import { onRecorded } from '../../events/ops.ts'
import { applyItems } from '../apply-items.ts'
import { lockById, putWords } from '../apply-store.ts'
import { publishConversations } from '../conversation-events.ts'
import { type ItemRef, loadItems } from '../item-sources.ts'
import { projectedAccounts, projectedEvents, projectionFailures, projectorLookback, projectorPace } from '../limits.ts'
import { nameHashesOf } from '../words.ts'
import * as store from './event-store.ts'

const urgentNames: ReadonlySet<string> = new Set(store.beginningEvents)
const followingNames: ReadonlySet<string> = new Set(store.followingEvents)

/** How far this process has read the events of an account. */
type AccountState = {
  /** Last event that was examined. */
  position: string
  /** Where a read in progress continues; null: none is in progress. */
  cursor: string | null
  /** The read in progress covers the whole lookback time. */
  isWhole: boolean
  /** Events of the lookback time that were handled here. */
  readonly seen: Set<string>
  /** Unix milliseconds of the next read of the whole lookback time. */
  wholeAt: number
  /** Milliseconds between reads of the whole lookback time, and events that the read in progress examined. */
  wholeEveryMs: number
  examined: number
  /** Unix milliseconds of the last event. */
  activeAt: number
  /** Passes that failed since the last one that did not. */
  failures: number
}

const refOf = ({ name, subject }: store.ProjectedEvent): ItemRef[] => {
  if (name.startsWith('sms.')) {
    const id = parse('SMI', subject) ?? parse('SMO', subject)
    return id ? [{ kind: 'sms', id }] : []
  }
  if (name.startsWith('msgapp.message.')) {
    const id = parse('MSG', subject)
    return id ? [{ kind: 'msgapp', id }] : []
  }
  // Events of calls on chat networks have the bare id of the call.
  const id = name.startsWith('msgapp.call.') ? parse('CDR', `CDR${subject}`) : parse('CDR', subject)
  return id ? [{ kind: 'call', id }] : []
}

/** Gives conversations the names of contacts that were created or changed. */
const renameByContacts = async (tx: Tx, account: string, contacts: readonly string[]): Promise<void> => {
  const linked = await store.linkContacts(tx, account, contacts)
  if (linked.length === 0) return
  const rows = await lockById(
    tx,
    account,
    linked.map(({ id }) => id),
  )
  const words = rows.map(({ id, name, counterpart }) => {
    const number = counterpart.startsWith('+') ? counterpart : null
    return { id, conversation: id, kind: 'name' as const, words: nameHashesOf(account, name, number) }
  })
  await putWords(tx, account, words)
  await publishConversations(
    tx,
    account,
    rows.map((row) => ({ name: 'conversation.updated', row, by: null })),
  )
}

/** Takes the subjects of events into their conversations. */
const project = async (tx: Tx, account: string, events: readonly store.ProjectedEvent[]): Promise<void> => {
  const contacts = events.flatMap(({ name, subject }) =>
    name.startsWith('contact.') ? (parse('CON', subject) ?? []) : [],
  )
  const refs = events.flatMap((event) => (event.name.startsWith('contact.') ? [] : refOf(event)))
  const items = refs.length > 0 ? await loadItems(tx, account, refs) : []
  if (items.length > 0) await applyItems(tx, account, items)
  if (contacts.length > 0) await renameByContacts(tx, account, contacts)
}

export type Projector = {
  /** Projects an account soon. */
  wake(account: string): void
  stop(): Promise<void>
}

/** Follows the event log, and keeps conversations. @param clock Unix milliseconds, as ids of events have them */
export const startProjector = (
  {
    db,
    log,
    wakeUps = noWakeUps,
  }: {
    readonly db: Db
    readonly log: Pick<Logger, 'warn' | 'error'>
    readonly wakeUps?: WakeUps
  },
  clock: () => number = Date.now,
): Projector => {
  const states = new Map<string, AccountState>()
  let sweptTo = store.least

  /** Returns where to read on: behind the last event of a read in progress, or some time before the newest event. */
  const startOf = (state: AccountState, floor: string, now: number): string => {
    if (state.cursor !== null) return state.cursor
    state.isWhole = now >= state.wholeAt
    const { eachMs, busyMs, busyEvents, commitMs } = projectorLookback
    const backMs = state.examined > busyEvents ? busyMs : eachMs
    const recent = idAt(now - (state.isWhole ? state.wholeEveryMs + commitMs : backMs))
    const start = recent < state.position ? recent : state.position
    return start < floor ? floor : start
  }

  /** Notes what a committed pass read. */
  const advance = (
    state: AccountState,
    { handled, reached, isEnd }: { handled: readonly store.ProjectedEvent[]; reached: string; isEnd: boolean },
    now: number,
  ) => {
    for (const { id } of handled) state.seen.add(id)
    const oldest = idAt(now - 2 * (projectorLookback.bulkEveryMs + projectorLookback.commitMs))
    for (const id of state.seen) if (id < oldest) state.seen.delete(id)
    if (reached > state.position) {
      state.position = reached
      state.activeAt = now
    }
    state.cursor = isEnd ? null : reached
    if (isEnd && state.isWhole) {
      // A read covers the time since the previous one, and that in which transactions commit.
      const isBulk = state.examined > projectorLookback.bulkEvents
      state.wholeEveryMs = isBulk ? projectorLookback.bulkEveryMs : projectorLookback.wholeEveryMs
      state.wholeAt = now + state.wholeEveryMs
    }
  }

  /** One transaction: reads events of an account and handles some. @returns milliseconds until the next pass, or null */
  const pass = async (account: string): Promise<number | null> => {
    const now = clock()
    return await db.begin(async (tx) => {
      await store.planByIndex(tx)
      const floor = await store.lockPosition(tx, account)
      // The other process may have read before the events of this one were committed.
      if (floor === 'busy') return projectorPace.sweepMs
      if (floor === null) return null
      const known = states.get(account)
      const state = known ?? {
        position: floor,
        cursor: null,
        isWhole: true,
        seen: new Set(),
        wholeAt: 0,
        wholeEveryMs: projectorLookback.bulkEveryMs,
        examined: 0,
        activeAt: now,
        failures: 0,
      }
      const start = startOf(state, floor, now)
      const { events, last, count } = await store.eventsAfter(tx, account, start)
      state.examined = state.cursor === null ? count : state.examined + count
      const fresh = events.filter(({ id }) => !state.seen.has(id))
      // After failures events are handled one by one, and one that fails time and again is skipped.
      const isDoubtful = state.failures >= projectionFailures.alone
      const handled = fresh.slice(0, isDoubtful ? 1 : projectedEvents.each)
      states.set(account, state)
      const isSkipped = state.failures >= projectionFailures.most
      if (isSkipped)
        log.error({ account, events: handled.map(({ id }) => id) }, 'inbox: skipped an event that cannot be projected')
      else if (handled.length > 0) await project(tx, account, handled)
      const isAll = handled.length === fresh.length
      const reached = (isAll ? last : handled.at(-1)?.id) ?? start
      const isEnd = isAll && count < projectedEvents.read
      // A floor within the lookback time would skip events that commit late.
      const settled = idAt(now - projectorLookback.bulkEveryMs - projectorLookback.commitMs)
      if (state.isWhole) await store.storePosition(tx, account, reached < settled ? reached : settled)
      tx.afterCommit(() => {
        advance(state, { handled, reached, isEnd }, now)
        state.failures = isSkipped || isEnd ? 0 : Math.min(state.failures, projectionFailures.alone)
      })
      return isEnd ? null : 0
    })
  }

  const run = async (account: string): Promise<number | null> => {
    try {
      return await pass(account)
    } catch (error) {
      if (!isUnavailable(error)) {
        log.warn({ err: error, account }, 'inbox: projection failed')
        const state = states.get(account)
        if (state) state.failures++
      }
      return projectorPace.retryMs
    }
  }
  const { schedule, ...turns } = makeTurns(projectedAccounts.atOnce, run)

  const unsubscribe = onRecorded((_webhooks, accounts, names) => {
    const isUrgent = names !== null && [...names].some((name) => urgentNames.has(name))
    const isConcerned = names === null || isUrgent || [...names].some((name) => followingNames.has(name))
    if (isConcerned)
      for (const account of accounts) schedule(account, isUrgent ? projectorPace.foldMs : projectorPace.lazyMs)
  })

  /** Looks for events that other processes recorded, and for those that became visible late. */
  const sweep = async () => {
    const known = [...states]
    const { accounts, last } = await store.sweep(db, {
      after: sweptTo,
      most: projectedAccounts.sweep,
      known: known.map(([account]) => account),
      positions: known.map(([, { position }]) => position),
    })
    sweptTo = last ?? store.least
    const found = accounts.filter(({ account_id }) => !turns.has(account_id))
    for (const { account_id, urgent } of found) schedule(account_id, urgent ? 0 : projectorPace.lazyMs)
    const now = clock()
    for (const [account, { wholeAt, activeAt }] of states)
      if (activeAt < now - projectorPace.idleMs && !turns.has(account)) states.delete(account)
      else if (wholeAt <= now) schedule(account, 0)
    // The rest of the accounts, and those that are read again as a whole.
    const waits = [...states.values()].map(({ wholeAt }) => wholeAt - now)
    return { isBusy: found.length > 0 || last !== null, dueInMs: Math.min(Number.POSITIVE_INFINITY, ...waits) }
  }
  const sweeps = startPoller({
    fastMs: projectorPace.sweepMs,
    slowMs: projectorPace.idleSweepMs,
    wakeUps,
    look: sweep,
    onError: (error) => {
      if (!isUnavailable(error)) log.warn({ err: error }, 'inbox: sweep failed')
    },
  })
  const unsubscribeRemote = wakeUps.on('inbox', sweeps.wake)

  return {
    wake: (account) => schedule(account, 0),
    stop: async () => {
      unsubscribe()
      unsubscribeRemote()
      await Promise.all([turns.stop(), sweeps.end()])
    },
  }
}
