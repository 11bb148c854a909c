import { createHash } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { type Db, sqlState } from '../../db/sql.ts'
import { uuid } from '../../lib/id.ts'
import type { Parts } from '../../parts.ts'
import { note } from '../channels/links.ts'
import type { Intake, Line } from '../intake.ts'
import { storable } from '../text.ts'
import * as store from './store.ts'

/** How often it is tried to keep a thing that the database refuses, and milliseconds from one try to the next. */
const tries = 3
const betweenMs = 200

/** So much is set aside of a channel. What comes then is told again until some of it is kept: so it lies with the network still. */
const mostOfChannel = 1_000

/**
 * SQLSTATEs by which PostgreSQL refuses the data themselves (appendix A): 21 cardinality, 22 data, 23 integrity, 54 limits, P0 what a
 * trigger raised. Any other says something of the database at this moment, and the network tells again.
 */
const ofTheData = /^(?:21|22|23|54|P0)/

/** Whether the database refuses what it was given, now and later. */
export const isRefused = (error: unknown): boolean => {
  const state = sqlState(error)
  return state === null ? error instanceof TypeError || error instanceof RangeError : ofTheData.test(state)
}

/** Why, in a line. */
export const reasonOf = (error: unknown): string =>
  storable(`${sqlState(error) ?? ''} ${error instanceof Error ? error.message : String(error)}`.trim()).slice(0, 500)

/** @returns whether it was not set aside before @throws the error itself when the channel has too much there */
const setAside = (db: Db, { account, channel }: Line, what: string, given: readonly unknown[], error: unknown) =>
  db.begin(async (tx) => {
    // Text, whatever stands in it: JSON escapes what PostgreSQL would not keep.
    const content = JSON.stringify(given)
    if (await store.isFull(tx, channel, mostOfChannel)) throw error
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
    const detail = `something that the network told (${what}) cannot be kept, and was set aside for the operator`
    if (isNew) await note(tx, { account, channel, id: uuid(), name: 'set-aside', detail })
    return isNew
  })

/**
 * Takes in what networks tell, and sets aside what can never be kept: a network that is told for ever that one message was not kept
 * would bring no other. While the database is away nothing is set aside.
 */
export const withAside = ({ db, log }: Pick<Parts, 'db' | 'log'>, intake: Intake): Intake => {
  const guarded =
    <Given extends unknown[]>(what: keyof Intake, keep: (line: Line, ...given: Given) => Promise<void>) =>
    async (line: Line, ...given: Given): Promise<void> => {
      for (let attempt = 1; ; attempt++) {
        try {
          return await keep(line, ...given)
        } catch (error) {
          if (!isRefused(error)) throw error
          if (attempt === tries) {
            const isNew = await setAside(db, line, what, given, error)
            const { channel, platform } = line
            log.error(
              { err: error, channel, platform, what, isNew },
              'what a network told cannot be kept: it is set aside',
            )
            return
          }
          await setTimeout(betweenMs)
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

/** For metrics: how much is set aside, by network. */
export const countAside = (db: Db) => store.countAll(db)

/** Forgets what nobody looked after for 90 days, a few at a time. @returns how much */
export const forgetAside = store.forgetOld
