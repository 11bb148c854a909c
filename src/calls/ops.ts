import type { VoiceDialog } from '../connectors/voice-port.ts'
import type { Db, Tx } from '../db/sql.ts'
import { type Event, record } from '../events/ops.ts'
import { Problem } from '../http/problem.ts'
import { capture, extend, hold } from '../ledger/ops.ts'
import { print } from '../lib/id.ts'
import { decimal, type Micros, micros } from '../lib/money.ts'
import * as dialogs from './dialogs.ts'
import { addSpent } from './limits.ts'
import { type RecordingLink, shownCall } from './shown.ts'
import * as store from './store.ts'

// The journal of calls. Each step is one transaction with its money and its events, and may be told again: the second time
// changes nothing. What is paid is held before it is talked.

/** Calls of the messaging app are told by its own events. */
const tell = async (tx: Tx, row: store.CallRow, name: Event['name'], linkOf?: RecordingLink): Promise<void> => {
  if (row.is_msgapp) return
  const did = row.virtual_number_id
  const received = did
    ? { received_on_number: row.to_number, received_on_number_uuid: print('DID', did) }
    : { received_on_number: row.to_number }
  await record(tx, [
    {
      account: row.account_id,
      name,
      channel: did,
      conversation: `call ${row.id}`,
      payload: { ...shownCall(row, linkOf), ...(row.direction === 'I' ? received : {}) },
    },
  ])
}

const rateOf = ({ rate }: store.CallRow): Micros => micros(rate) ?? 0

/** How a call ended, as the interface says, and how many milliseconds ago: now unless told. */
export type CallEnd = { status: Exclude<store.Status, 'RINGING' | 'ANSWERED'>; reason: string; agoMs?: number }

/**
 * An attempt: its record, and its first minute set aside at the rate of this moment.
 * @param call ids without prefix; `rate` is USD a minute, decimal
 * @returns false when it was begun before
 * @throws the 402 Problem when the balance does not cover a minute
 */
export const beginCall = async (tx: Tx, call: store.NewCall): Promise<boolean> => {
  const row = await store.add(tx, call)
  if (!row) return false
  const rate = rateOf(row)
  if (rate > 0) {
    const what = { kind: 'call', reference: print('CDR', row.id) }
    await store.setHold(tx, row.account_id, row.id, await hold(tx, row.account_id, rate, 'calls', what))
  }
  await tell(tx, row, 'call.status.update')
  return true
}

/** From now on it costs. @param user who took it in a browser @param kept what a crash would leave at the other sides
 *  @returns false when it has ended, or was answered before */
export const callAnswered = async (
  tx: Tx,
  account: string,
  id: string,
  user: string | null,
  kept: readonly VoiceDialog[] = [],
): Promise<boolean> => {
  const row = await store.lock(tx, account, id)
  if (!row || row.answered_at) return false
  if (kept.length > 0) await dialogs.keep(tx, account, id, kept)
  await tell(tx, await store.answer(tx, account, id, user), 'call.status.update')
  return true
}

/** How long before a minute begins it is set aside: two beats. */
const aheadSeconds = 10

const secondsFrom = (from: Date, to: Date): number => Math.max(0, Math.ceil((to.getTime() - from.getTime()) / 1000))

/** Why no more can be set aside, and nothing is; null when it is. */
const setAside = async (
  tx: Tx,
  row: store.CallRow,
  amount: Micros,
  maySpend: (more: Micros) => Promise<boolean>,
): Promise<Lack['why'] | null> => {
  if (row.direction === 'O' && !(await maySpend(amount))) return 'spend_limit'
  try {
    await extend(tx, row.account_id, row.hold_id ?? '', amount)
    return null
  } catch (error) {
    // Refused before anything was changed.
    if (error instanceof Problem) return 'balance'
    throw error
  }
}

/** No more is set aside: why, and for how many seconds what was set aside lasts. */
export type Lack = { readonly why: 'balance' | 'spend_limit'; readonly seconds: number }

export type Beat = { readonly cut: 'ended' | Lack['why'] | null; readonly lack: Lack | null }

/**
 * It lives: what it may come to until the next beat is set aside.
 * @param maySpend whether the account may spend so much more on calls
 * @returns why it must be cut now, and whether it will have to be
 */
export const beatCall = async (
  tx: Tx,
  account: string,
  id: string,
  maySpend: (more: Micros) => Promise<boolean> = async () => true,
): Promise<Beat> => {
  const row = await store.lock(tx, account, id)
  if (!row) return { cut: 'ended', lack: null }
  const wanted = row.answered_at ? Math.ceil((secondsFrom(row.answered_at, row.now) + aheadSeconds) / 60) : 1
  const more = wanted - row.held_minutes
  const why = row.hold_id && more > 0 ? await setAside(tx, row, more * rateOf(row), maySpend) : null
  if (why) {
    // What was set aside is talked out.
    const talked = row.answered_at ? (row.now.getTime() - row.answered_at.getTime()) / 1_000 : 0
    const lack = { why, seconds: Math.max(0, row.held_minutes * 60 - talked) }
    await store.beat(tx, account, id, row.held_minutes)
    return { cut: row.answered_at && lack.seconds === 0 ? why : null, lack }
  }
  await store.beat(tx, account, id, row.hold_id ? Math.max(wanted, row.held_minutes) : 0)
  return { cut: null, lack: null }
}

const end = async (
  tx: Tx,
  row: store.CallRow,
  at: Date,
  { status, reason }: CallEnd,
  linkOf?: RecordingLink,
): Promise<void> => {
  const talked = row.answered_at ? Math.max(0, at.getTime() - row.answered_at.getTime()) / 1_000 : 0
  const held = row.held_minutes * 60
  // A call that is cut when its paid time is over ends some milliseconds later: that is no further second.
  const duration = row.hold_id && talked > held && talked < held + 1 ? held : Math.ceil(talked)
  // Never more than was set aside: whoever is late to cut pays for it, not the account.
  const begun = row.answered_at && row.hold_id ? Math.max(1, Math.ceil(duration / 60)) : 0
  const minutes = Math.min(begun, row.held_minutes)
  const price = minutes * rateOf(row)
  // Before the balance, as at the beginning of a call: in another order two of them could wait for each other.
  if (row.direction === 'O' && price > 0) await addSpent(tx, row.account_id, price)
  if (row.hold_id) await capture(tx, row.account_id, row.hold_id, price)
  const ended = await store.end(tx, row.account_id, row.id, {
    at,
    status,
    end_reason: reason,
    duration,
    billed: minutes * 60,
    price: decimal(price),
  })
  await tell(tx, ended, 'call.status.update', linkOf)
  await tell(tx, ended, ended.direction === 'I' ? 'call.incoming.completed' : 'call.outbound.completed', linkOf)
}

/** When it ended, by the platform's clock: not before it was answered, and not in time to come. */
const endedAt = ({ now, answered_at, created_at }: store.CallRow & { now: Date }, agoMs: number): Date =>
  new Date(Math.max((answered_at ?? created_at).getTime(), now.getTime() - Math.max(0, agoMs)))

/** The end, with what is paid: every minute that was begun until then, not until it could be written down. @returns false when it had ended before */
export const callEnded = async (
  tx: Tx,
  account: string,
  id: string,
  how: CallEnd,
  linkOf?: RecordingLink,
): Promise<boolean> => {
  const row = await store.lock(tx, account, id)
  if (!row) return false
  await end(tx, row, endedAt(row, how.agoMs ?? 0), how, linkOf)
  return true
}

/** The recording of a call that had ended before it could be heard: what was told of its end did not have it. */
export const recordingReady = async (tx: Tx, account: string, id: string, linkOf: RecordingLink): Promise<void> => {
  const row = await store.find(tx, account, id)
  if (row?.ended_at) await tell(tx, row, 'call.status.update', linkOf)
}

const unanswered = ({ direction }: store.CallRow) => (direction === 'I' ? ('MISSED' as const) : ('NO_ANSWER' as const))

/** The end of a call on the messaging app, which other devices than ours take and make. @returns as `callEnded` */
export const chatCallEnded = async (tx: Tx, account: string, id: string, isAnswered: boolean): Promise<boolean> => {
  const row = await store.lock(tx, account, id)
  if (!row) return false
  await end(tx, row, row.now, { status: isAnswered ? 'COMPLETED' : unanswered(row), reason: 'ended' })
  return true
}

/** An attempt that was refused: a record that ended as it began. @param reason the word for why */
export const refuseCall = async (tx: Tx, call: store.NewCall, reason: string): Promise<void> => {
  await store.add(tx, call)
  const row = await store.lock(tx, call.account_id, call.id)
  if (row) await end(tx, row, row.now, { status: 'FAILED', reason })
}

/** How long an answered call may have no beat until nobody runs it, in seconds: its own process gives it up after 60. */
const abandonedSeconds = 120

const closeAll = async (tx: Tx, found: readonly store.CallKey[]): Promise<number> => {
  for (const { account_id, id } of found) {
    const row = await store.lock(tx, account_id, id)
    if (!row) continue
    const failed = row.is_msgapp ? unanswered(row) : ('FAILED' as const)
    await end(tx, row, row.beat_at, { status: row.answered_at ? 'COMPLETED' : failed, reason: 'interrupted' })
  }
  return found.length
}

/** Closes calls that no process runs any more, as of their last beat.
 *  @param silent seconds without a beat; 0: no other process lives, and all open ones of voice are meant @returns how many */
export const closeAbandoned = async (tx: Tx, limit = 100, silent = abandonedSeconds): Promise<number> =>
  closeAll(tx, await store.abandoned(tx, limit, silent))

/** Closes calls that were begun under an earlier tenure of voice than this one, as of their last beat. @returns how many */
export const closeEarlier = async (tx: Tx, tenure: number, limit: number): Promise<number> =>
  closeAll(tx, await store.earlier(tx, tenure, limit))

/** For a start that knows that no other process lives: what a killed one left open need not wait to be missed. */
export const closeLeft = async (db: Db): Promise<void> => {
  while ((await db.begin((tx) => closeAbandoned(tx, 100, 0))) > 0);
}
