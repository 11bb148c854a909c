import { createHash } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { type Db, sqlState } from '../../../platform/db/sql.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { storable } from '../../../platform/lib/storable.ts'
import type { Services } from '../../../services.ts'
import { logEvent } from '../channels/status-store.ts'
import type { ChannelRef, InboundHandlers } from '../inbound-handlers.ts'
import { maxDeadLettersPerChannel, maxStoreTries, storeRetryMs } from '../limits.ts'
import * as store from './store.ts'

/**
 * SQLSTATE classes by which PostgreSQL rejects the data themselves (appendix A): 21 cardinality, 22 data, 23
 * integrity, 54 limits, P0 raised by a trigger. Any other class concerns the database at this moment, and the network
 * redelivers.
 */
const dataErrorClass = /^(?:21|22|23|54|P0)/

/** Whether the database rejects the data permanently. */
export const isRejectedData = (error: unknown): boolean => {
  const state = sqlState(error)
  return state === null ? error instanceof TypeError || error instanceof RangeError : dataErrorClass.test(state)
}

/** Returns the reason in one line. */
export const reasonOf = (error: unknown): string =>
  storable(`${sqlState(error) ?? ''} ${error instanceof Error ? error.message : String(error)}`.trim(), 500)

/**
 * @returns whether the event is a new dead letter
 * @throws the error itself when the channel has too many dead letters
 */
const addDeadLetter = (
  db: Db,
  { account, channel }: ChannelRef,
  what: string,
  args: readonly unknown[],
  error: unknown,
) =>
  db.begin(async (tx) => {
    // JSON text: it escapes characters that PostgreSQL cannot store.
    const content = JSON.stringify(args)
    if (await store.isFull(tx, channel, maxDeadLettersPerChannel)) throw error
    const digest = createHash('sha256').update(what).update(content).digest()
    const isNew = await store.add(tx, {
      account,
      channel,
      id: uuid(),
      what,
      content,
      digest,
      reason: reasonOf(error),
    })
    const detail = `an inbound event (${what}) cannot be stored and is now a dead letter for the operator`
    if (isNew) await logEvent(tx, { account, channel, id: uuid(), name: 'set-aside', detail })
    return isNew
  })

/**
 * Wraps the inbound handlers: events that can never be stored become dead letters. Otherwise a network would
 * redeliver such an event forever and deliver nothing else. During a database outage no dead letters are written.
 */
export const withDeadLetters = (
  { db, log }: Pick<Services, 'db' | 'log'>,
  intake: InboundHandlers,
): InboundHandlers => {
  const guarded =
    <Given extends unknown[]>(
      what: keyof InboundHandlers,
      keep: (channelRef: ChannelRef, ...args: Given) => Promise<void>,
    ) =>
    async (channelRef: ChannelRef, ...args: Given): Promise<void> => {
      for (let attempt = 1; ; attempt++) {
        try {
          return await keep(channelRef, ...args)
        } catch (error) {
          if (!isRejectedData(error)) throw error
          if (attempt === maxStoreTries) {
            const isNew = await addDeadLetter(db, channelRef, what, args, error)
            const { channel, platform } = channelRef
            log.error({ err: error, channel, platform, what, isNew }, 'msgapp: inbound event moved to dead letters')
            return
          }
          await setTimeout(storeRetryMs)
        }
      }
    }
  return {
    inbound: guarded('inbound', intake.inbound),
    receipt: guarded('receipt', intake.receipt),
    failure: guarded('failure', intake.failure),
    edited: guarded('edited', intake.edited),
    reaction: guarded('reaction', intake.reaction),
    call: guarded('call', intake.call),
    group: guarded('group', intake.group),
    mapped: guarded('mapped', intake.mapped),
    renamed: guarded('renamed', intake.renamed),
  }
}

/** Counts dead letters by network, for metrics. */
export const countDeadLetters = (db: Db) => store.countAll(db)

/**
 * Deletes dead letters older than 90 days, a few at a time.
 * @returns how many
 */
export const purgeDeadLetters = store.purgeOld
