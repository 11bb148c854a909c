import type { Logger } from 'pino'
import type { Db } from '../../../platform/db/sql.ts'
import { Problem } from '../../../platform/http/problem.ts'
import type { Quotas } from '../../../platform/http/quotas.ts'
import { micros } from '../../../platform/lib/money.ts'
import type { Seal } from '../../../platform/lib/secret.ts'
import type { VoiceDecision, VoicePlan } from '../../../ports/voice.ts'
import type { Prices } from '../../prices/ops.ts'
import type { RecordingLink } from '../call-presenter.ts'
import { ringTimeoutSeconds } from '../limits.ts'
import { beginCall, refuseCall, storeBlockedCall } from '../ops.ts'
import type { CallPrograms } from '../orders/call-programs.ts'
import * as recordings from '../recordings/recording-files.ts'
import { blockedReason, type CallRefusal, callRefusals, keyLimitCode } from '../refusals.ts'
import type { NewCall } from '../store.ts'
import type { makeCallTimelines } from '../timeline/call-timeline.ts'
import type { RunningCall } from './call-end-reason.ts'
import { checkCallLimits, getsRecord, type LimitSettings, makeMinuteCounter } from './call-limits.ts'
import type { TrunkConnection } from './trunk-selection.ts'

export type CallControlDeps = {
  readonly db: Db
  readonly sandboxAccounts: { has(account: string): boolean }
  readonly seal: Seal
  readonly prices: Prices
  readonly log: Logger
  readonly config: recordings.RecordingStorage['config'] & LimitSettings
  readonly linkOf: RecordingLink
  /** Returns the link to a recording. */
  readonly urlOfRecording: (account: string, recording: string) => string
  readonly quotas: Quotas
  /** Fencing epoch of the calls that start here; a process with a later epoch closes them. */
  readonly epoch: number
  hangUp(call: string, reason: string): void
  trunks(): readonly TrunkConnection[]
  readonly callPrograms: CallPrograms
}

/** Returns a refusal as SIP answers it. */
export const refused = ({ status, reason }: CallRefusal) => ({ refused: { status, reason } })

export type CallTimelines = ReturnType<typeof makeCallTimelines>
export type RunningCalls = Map<string, RunningCall>

/** Admits calls that can be paid, and stores the refused ones. */
export const makeAdmission = (deps: CallControlDeps, running: RunningCalls, timelines: CallTimelines) => {
  const { db } = deps

  const storeRefusal = async (call: NewCall, refusal: CallRefusal) => {
    timelines.begin(call.id, call.account_id)
    timelines.append(call.id, [
      { at: Date.now(), leg: null, what: 'note', text: `${refusal.status} ${refusal.reason}` },
    ])
    await db.begin((tx) =>
      refusal.code === blockedReason ? storeBlockedCall(tx, call) : refuseCall(tx, call, refusal.code),
    )
    return refused(refusal)
  }

  const countRefused = makeMinuteCounter()
  /** Whether a further refused inbound call gets a CDR, per trunk or account. Carriers retry as fast as we answer. */
  const getsCdr = (payer: string) => getsRecord(countRefused(payer), deps.config.callsPerMinute)

  const refuseInbound = async (call: NewCall, refusal: CallRefusal) =>
    getsCdr(call.account_id) ? await storeRefusal(call, refusal) : refused(refusal)

  /** Stores an attempt and admits it if it can be paid. @param refusal answer if the balance does not suffice */
  const admitCall = async (
    call: NewCall,
    plan: Pick<VoicePlan, 'callerId' | 'targets'> & { isRecorded: boolean },
    refusal: CallRefusal,
  ): Promise<VoiceDecision<VoicePlan>> => {
    const { isRecorded, ...way } = plan
    const refuseIt = call.direction === 'I' ? refuseInbound : storeRefusal
    const full = isRecorded ? await deps.quotas.storageExhausted(db, call.account_id) : null
    const prepared = isRecorded && !full ? await recordings.prepareRecording(deps.config, call.account_id) : null
    const record = prepared instanceof Error ? null : prepared
    try {
      const limited = await db.begin(async (tx) => {
        const rate = call.direction === 'O' ? (micros(call.rate) ?? 0) : 0
        const limited = await checkCallLimits(tx, call.account_id, rate, deps.config)
        if (limited) return limited
        await beginCall(tx, { ...call, tenure: deps.epoch })
        const source = call.origin === 'dial' ? 'dial' : 'call'
        if (record !== null) await recordings.insertRecording(tx, call.account_id, call.id, record, source)
        return null
      })
      if (limited) return await refuseIt(call, limited)
    } catch (error) {
      if (error instanceof Problem)
        return await refuseIt(call, error.code === keyLimitCode ? callRefusals.keySpendLimit(error.message) : refusal)
      throw error
    }
    running.set(call.id, {
      account: call.account_id,
      direction: call.direction,
      recording: record?.id ?? null,
      isAnswered: false,
      persistedAt: performance.now(),
      ...(call.status === 'QUEUED' ? { storesRinging: true } : {}),
      ...(call.parent_id
        ? { dialled: { by: call.parent_id, callerId: call.caller_id_used, depth: call.depth ?? 0 } }
        : {}),
    })
    timelines.begin(call.id, call.account_id)
    if (full)
      timelines.append(call.id, [{ at: Date.now(), leg: null, what: 'note', text: `not recorded: ${full.message}` }])
    if (prepared instanceof Error) {
      deps.log.error({ call: call.id, err: prepared }, 'recordings: creating the folder failed')
      timelines.append(call.id, [
        { at: Date.now(), leg: null, what: 'note', text: 'not recorded: its folder could not be created' },
      ])
    }
    const seconds = call.is_trunk && call.direction === 'O' ? ringTimeoutSeconds.trunk : ringTimeoutSeconds.people
    const limits = { ringSeconds: seconds, mostSeconds: null }
    return {
      value: {
        call: call.id,
        account: call.account_id,
        ...way,
        ...limits,
        record: record && { id: record.id, path: record.path },
      },
    }
  }

  return { getsCdr, storeRefusal, refuseInbound, admitCall }
}

export type Admission = ReturnType<typeof makeAdmission>
