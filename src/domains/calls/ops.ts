import type { Db, Sql, Tx } from '../../platform/db/sql.ts'
import { Problem } from '../../platform/http/problem.ts'
import { notify } from '../../platform/jobs/queue.ts'
import { print } from '../../platform/lib/id.ts'
import { decimal, type Micros, micros } from '../../platform/lib/money.ts'
import type { VoiceDialog } from '../../ports/voice.ts'
import { type Event, record } from '../events/ops.ts'
import { capture, extend, hold } from '../ledger/ops.ts'
import { requestNotices, withdrawNotices } from '../push/ops.ts'
import { presentCall, type RecordingLink } from './call-presenter.ts'
import type { CallQuality } from './call-quality.ts'
import { addSpending } from './control/call-limits.ts'
import * as dialogs from './control/dialog-store.ts'
import { abandonedCallSeconds, holdAheadSeconds, leftStreamSeconds } from './limits.ts'
import { callbackKinds } from './orders/callback-kinds.ts'
import type { ProgramFailure } from './programs/program-deps.ts'
import { recordingLinks } from './recordings/recording-links.ts'
import { blockedReason, keyLimitCode } from './refusals.ts'
import * as store from './store.ts'
import { reportLeftStreams } from './streams/stream-status.ts'
import { findCallsWithLeftStreams } from './streams/stream-store.ts'

// Records of calls. Each step is one transaction with its money and its events, and is idempotent. Every minute is held
// on the ledger before it is used.

/** Publishes call events, in order. Calls of the messaging app have events of their own. */
const publishCallEvents = async (
  tx: Tx,
  row: store.CallRow,
  names: readonly Event['name'][],
  linkOf?: RecordingLink,
  more: object = {},
): Promise<void> => {
  if (row.is_msgapp) return
  const did = row.virtual_number_id
  const received = did
    ? { received_on_number: row.to_number, received_on_number_uuid: print('DID', did) }
    : { received_on_number: row.to_number }
  const payload = { ...presentCall(row, linkOf), ...(row.direction === 'I' ? received : {}), ...more }
  await record(
    tx,
    names.map((name) => ({ account: row.account_id, name, channel: did, conversation: `call ${row.id}`, payload })),
  )
  notifyCallbacks(tx, row)
}

/** Wakes the workers of this process after a change of a call with callbacks: a trigger added the jobs. */
export const notifyCallbacks = (tx: Tx, { callbacks }: Pick<store.CallRow, 'callbacks'>): void => {
  if (callbacks) tx.afterCommit(() => notify(callbackKinds[callbacks.shape]))
}

const rateOf = ({ rate }: store.CallRow): Micros => micros(rate) ?? 0

/** End of a call in terms of the API. `agoMs`: milliseconds since the end. Default: 0. */
export type CallEnd = {
  status: Exclude<store.Status, 'QUEUED' | 'RINGING' | 'ANSWERED'>
  reason: string
  agoMs?: number
  /** There was no talk: nothing is charged even if the call was answered. */
  isFree?: boolean
  quality?: CallQuality | null
}

/**
 * Stores an attempt and holds its first minute at the current rate.
 * @param call ids without prefix; `rate` is USD per minute, decimal
 * @returns false if the call exists
 * @throws the 402 Problem if the balance, or the limit of a key, does not cover a minute
 */
export const beginCall = async (tx: Tx, call: store.NewCall): Promise<boolean> => {
  const row = await store.add(tx, call)
  if (!row) return false
  const rate = rateOf(row)
  if (rate > 0) {
    const limitedKeys = row.limited_keys
    const what = { kind: 'call', reference: print('CDR', row.id), limitedKeys } as const
    await store.setHold(tx, row.account_id, row.id, await hold(tx, row.account_id, rate, 'calls', what))
  }
  // A queued call is initiated once it is placed.
  await publishCallEvents(tx, row, row.queued ? ['call.status.update'] : ['call.initiated', 'call.status.update'])
  if (row.direction === 'I' && row.virtual_number_id !== null)
    await requestNotices(tx, row.account_id, [{ kind: 'call', subject: row.id, item: row.id, users: null }])
  return true
}

/** Publishes that a queued call is placed. */
export const callPlaced = (tx: Tx, row: store.CallRow): Promise<void> => publishCallEvents(tx, row, ['call.initiated'])

/** Stores that a call of the API rings; no effect on other calls. */
export const callRinging = async (tx: Tx, account: string, id: string): Promise<void> => {
  const row = await store.ring(tx, account, id)
  if (row) await publishCallEvents(tx, row, ['call.status.update'])
}

/** Stores the answer; charging starts. @param user who answered in a browser
 *  @param openDialogs dialogs to end after a crash @returns false if the call has ended, or was answered before */
export const callAnswered = async (
  tx: Tx,
  account: string,
  id: string,
  user: string | null,
  openDialogs: readonly VoiceDialog[] = [],
): Promise<boolean> => {
  const row = await store.lock(tx, account, id)
  if (!row || row.answered_at) return false
  if (openDialogs.length > 0) await dialogs.saveDialogs(tx, account, id, openDialogs)
  await publishCallEvents(tx, await store.answer(tx, account, id, user), ['call.answered', 'call.status.update'])
  await withdrawNotices(tx, account, [id])
  return true
}

const secondsFrom = (from: Date, to: Date): number => Math.max(0, Math.ceil((to.getTime() - from.getTime()) / 1000))

/** Extends the hold. Returns the reason if that is not possible; the hold is then unchanged. */
const extendHold = async (
  tx: Tx,
  row: store.CallRow,
  amount: Micros,
  maySpend: (more: Micros) => Promise<boolean>,
): Promise<HoldShortfall['why'] | null> => {
  if (row.direction === 'O' && !(await maySpend(amount))) return 'spend_limit'
  try {
    await extend(tx, row.account_id, row.hold_id ?? '', amount)
    return null
  } catch (error) {
    // The ledger refuses before it changes anything.
    if (error instanceof Problem) return error.code === keyLimitCode ? keyLimitCode : 'balance'
    throw error
  }
}

/** The hold could not be extended: the reason, and how many seconds the held minutes last. */
export type HoldShortfall = {
  readonly why: 'balance' | 'spend_limit' | typeof keyLimitCode
  readonly seconds: number
}

export type HeartbeatResult = {
  readonly cut: 'ended' | HoldShortfall['why'] | null
  readonly lack: HoldShortfall | null
}

/**
 * Stores a heartbeat and holds the cost until the next one.
 * @param maySpend whether the account may spend this further amount on calls
 * @returns `cut`: reason to end the call now; `lack`: reason to end it when the held minutes run out
 */
export const heartbeatCall = async (
  tx: Tx,
  account: string,
  id: string,
  maySpend: (more: Micros) => Promise<boolean> = async () => true,
): Promise<HeartbeatResult> => {
  const row = await store.lock(tx, account, id)
  if (!row) return { cut: 'ended', lack: null }
  const minutesNeeded = row.answered_at ? Math.ceil((secondsFrom(row.answered_at, row.now) + holdAheadSeconds) / 60) : 1
  const more = minutesNeeded - row.held_minutes
  const why = row.hold_id && more > 0 ? await extendHold(tx, row, more * rateOf(row), maySpend) : null
  if (why) {
    // The held minutes last for the remaining seconds.
    const talked = row.answered_at ? (row.now.getTime() - row.answered_at.getTime()) / 1_000 : 0
    const lack = { why, seconds: Math.max(0, row.held_minutes * 60 - talked) }
    await store.storeHeartbeat(tx, account, id, row.held_minutes)
    return { cut: row.answered_at && lack.seconds === 0 ? why : null, lack }
  }
  await store.storeHeartbeat(tx, account, id, row.hold_id ? Math.max(minutesNeeded, row.held_minutes) : 0)
  return { cut: null, lack: null }
}

const end = async (
  tx: Tx,
  row: store.CallRow,
  at: Date,
  { status, reason, isFree = false, quality = null }: CallEnd,
  linkOf?: RecordingLink,
): Promise<void> => {
  const talked = row.answered_at ? Math.max(0, at.getTime() - row.answered_at.getTime()) / 1_000 : 0
  const held = row.held_minutes * 60
  // A call that we end when its held time is over ends some milliseconds later: that is no further second.
  const duration = row.hold_id && talked > held && talked < held + 1 ? held : Math.ceil(talked)
  // Never more than was held: the platform bears the cost of a late end, not the account.
  const begun = row.answered_at && row.hold_id && !isFree ? Math.max(1, Math.ceil(duration / 60)) : 0
  const minutes = Math.min(begun, row.held_minutes)
  const price = minutes * rateOf(row)
  // Before the balance: docs/locks.md.
  if (row.direction === 'O' && price > 0) await addSpending(tx, row.account_id, price)
  if (row.hold_id) await capture(tx, row.account_id, row.hold_id, price)
  const ended = await store.end(tx, row.account_id, row.id, {
    at,
    status,
    end_reason: reason,
    duration,
    billed: minutes * 60,
    price: decimal(price),
    quality,
  })
  const completed = ended.direction === 'I' ? 'call.incoming.completed' : 'call.outbound.completed'
  await publishCallEvents(tx, ended, ['call.status.update', completed], linkOf)
  if (ended.direction === 'I') await withdrawNotices(tx, ended.account_id, [ended.id])
}

/** Returns the time of the end by the platform's clock: not before the answer, and not in the future. */
const endedAt = ({ now, answered_at, created_at }: store.CallRow & { now: Date }, agoMs: number): Date =>
  new Date(Math.max((answered_at ?? created_at).getTime(), now.getTime() - Math.max(0, agoMs)))

/** Stores the end and charges every minute started before it, however late it is stored.
 *  @returns false if it had ended before */
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

/** Publishes the recording of a call whose end was published without it. */
export const recordingReady = async (tx: Tx, account: string, id: string, linkOf: RecordingLink): Promise<void> => {
  const row = await store.find(tx, account, id)
  if (row?.ended_at) await publishCallEvents(tx, row, ['call.status.update'], linkOf)
}

/** A recording that became available, with a link to it. @param id without prefix */
export type ReadyRecording = { readonly id: string; readonly seconds: number; readonly url: string }

/** Publishes that recordings of a call are available. */
export const publishRecordingsReady = async (
  tx: Tx,
  account: string,
  call: string,
  recordings: readonly ReadyRecording[],
): Promise<void> => {
  const row = recordings.length > 0 ? await store.find(tx, account, call) : null
  if (!row) return
  for (const { id, seconds, url } of recordings) {
    const more = { recording_uuid: print('REC', id), recording_seconds: seconds, recording_url: url }
    await publishCallEvents(tx, row, ['call.recording.ready'], undefined, more)
  }
}

/** Publishes that the program of a call has failed. @param application uuid of its application; null: it is none */
export const publishProgramFailed = async (
  tx: Tx,
  account: string,
  call: string,
  application: string | null,
  { code, url, status, detail }: ProgramFailure,
): Promise<void> => {
  const row = await store.find(tx, account, call)
  if (!row) return
  // The query of an address may be secret.
  const address = url !== null && URL.canParse(url) ? new URL(url).origin + new URL(url).pathname : null
  await publishCallEvents(tx, row, ['call.program.failed'], undefined, {
    error: { code, url: address, status, detail: detail.slice(0, 500) },
    ...(application === null ? {} : { application_uuid: print('APP', application) }),
  })
}

const unanswered = ({ direction }: store.CallRow) => (direction === 'I' ? ('MISSED' as const) : ('NO_ANSWER' as const))

/** Stores the end of a call on the messaging app, which runs on other devices. @returns as `callEnded` */
export const chatCallEnded = async (tx: Tx, account: string, id: string, isAnswered: boolean): Promise<boolean> => {
  const row = await store.lock(tx, account, id)
  if (!row) return false
  await end(tx, row, row.now, { status: isAnswered ? 'COMPLETED' : unanswered(row), reason: 'ended' })
  return true
}

/** Stores a refused attempt, which ends as it starts. @param reason the reason code */
export const refuseCall = async (tx: Tx, call: store.NewCall, reason: string): Promise<void> => {
  await store.add(tx, call)
  const row = await store.lock(tx, call.account_id, call.id)
  if (row) await end(tx, row, row.now, { status: 'FAILED', reason })
}

/** Stores a call of a blocked contact, which ends as it starts, without an event. */
export const storeBlockedCall = async (tx: Tx, call: store.NewCall): Promise<void> => {
  await store.add(tx, call)
  const row = await store.lock(tx, call.account_id, call.id)
  if (!row) return
  const ended = {
    at: row.now,
    status: 'FAILED',
    end_reason: blockedReason,
    duration: 0,
    billed: 0,
    price: '0',
    quality: null,
  } as const
  await store.end(tx, call.account_id, call.id, ended)
}

const closeAll = async (tx: Tx, found: readonly store.CallKey[]): Promise<number> => {
  for (const { account_id, id } of found) {
    const row = await store.lock(tx, account_id, id)
    if (!row) continue
    const failed = row.is_msgapp ? unanswered(row) : ('FAILED' as const)
    await reportLeftStreams(tx, account_id, id, { now: row.now, endedAt: row.beat_at })
    await end(tx, row, row.beat_at, { status: row.answered_at ? 'COMPLETED' : failed, reason: 'interrupted' })
  }
  return found.length
}

/** Closes abandoned calls as of their last heartbeat.
 *  @param silent seconds without a heartbeat; 0: no other process runs, close all voice calls @returns their number */
export const closeAbandoned = async (tx: Tx, limit = 100, silent = abandonedCallSeconds): Promise<number> =>
  closeAll(tx, await store.lockAbandoned(tx, limit, silent))

/** Closes calls of earlier epochs, as of their last heartbeat. @returns their number */
export const closeEarlierEpochs = async (tx: Tx, epoch: number, limit: number): Promise<number> =>
  closeAll(tx, await store.lockEarlierEpochs(tx, epoch, limit))

/** Reports the end of streams whose process was gone before it could, after the end of their call. */
export const reportStreamsOfEndedCalls = async (tx: Tx, now: Date, limit = 100): Promise<void> => {
  for (const { account_id, id, ended_at } of await findCallsWithLeftStreams(tx, leftStreamSeconds, limit))
    await reportLeftStreams(tx, account_id, id, { now, endedAt: ended_at })
}

/** Closes all open voice calls, for a start that knows that no other process runs. */
export const closeAllOpenCalls = async (db: Db): Promise<void> => {
  while ((await db.begin((tx) => closeAbandoned(tx, 100, 0))) > 0);
}

/** Returns the number of current calls of an account. */
export const countOpenCalls = store.countOpenOfAccount

/** Returns those of the calls that a narrowed reader may see. */
export const visibleCalls = store.visible

/** Makes the function that returns calls of an account in the form of the API, by their bare ids. */
export const makeCallLoader = (deps: Parameters<typeof recordingLinks>[0]) => {
  const { urlOf } = recordingLinks(deps)
  return async (sql: Sql, account: string, ids: readonly string[]) =>
    new Map((await store.byIds(sql, account, ids)).map((row) => [row.id, presentCall(row, urlOf)]))
}
