import type { Db } from '../../../platform/db/sql.ts'
import { type Job, type JobKind, type Log, Retry, Snooze } from '../../../platform/jobs/job-kind.ts'
import { makeRequestShare } from '../../../platform/jobs/request-share.ts'
import { iso } from '../../../platform/lib/clock.ts'
import { print } from '../../../platform/lib/id.ts'
import { decimal, micros } from '../../../platform/lib/money.ts'
import type { OutboundPair } from '../../../platform/lib/outbound.ts'
import { OutboundError } from '../../../platform/lib/outbound-exchange.ts'
import { signatureHeaders } from '../../../platform/lib/webhook-signature.ts'
import type { CallbackEvent } from '../../applications/ops.ts'
import { callbackPauses, callbackTimeoutMs, maxCallbackAnswerBytes } from '../limits.ts'
import { nativeCall, withQuery } from '../programs/native-request.ts'
import { printStream } from '../programs/program-deps.ts'
import type { RecordingPayload } from '../recordings/recording-status.ts'
import { type CallRow, find, type Status } from '../store.ts'
import type { StreamPayload } from '../streams/stream-status.ts'
import { callbackKinds } from './callback-kinds.ts'
import { findTags } from './order-store.ts'
import { programCallOf } from './program-call.ts'

/** A status of a call at its moment, as the trigger of the database noted it. `at`: ISO 8601. */
export type CallbackPayload = {
  readonly call: string
  readonly event: CallbackEvent
  readonly status: Status
  /** Its number among the callbacks of this call, from 0. */
  readonly sequence: number
  readonly at: string
}

export type CallbackDeps = {
  readonly db: Db
  readonly log: Log
  readonly outbound: OutboundPair
  readonly sandboxAccounts: { has(account: string): boolean }
  readonly version: string
  /** Returns the keys that sign the requests of an application; null: of the account. */
  signingKeys(account: string, application: string | null): Promise<readonly Buffer[]>
}

/** Returns what a callback says of the end of a call. */
const endOf = ({ duration, billed, price, end_reason }: CallRow) => ({
  duration,
  charged_seconds: billed,
  price: decimal(micros(price) ?? 0),
  end_reason,
})

const statusOf = (row: CallRow, tags: Record<string, unknown>, { event, status, sequence, at }: CallbackPayload) => ({
  event: `call.${event}`,
  sequence,
  timestamp: iso(new Date(at)),
  call: { ...nativeCall(programCallOf(row, tags)), status },
  ...(event === 'completed' ? { result: endOf(row) } : {}),
})

type ReportPayload = CallbackPayload | RecordingPayload | StreamPayload

/** A stream that goes on has neither `reason` nor `code` nor `seconds`. */
const streamOf = (row: CallRow, tags: Record<string, unknown>, payload: StreamPayload): object => {
  const { change, at, stream, name, error, end } = payload
  return {
    event: `stream-${change}`,
    timestamp: at,
    call: nativeCall(programCallOf(row, tags)),
    result: {
      ...{ stream: printStream(stream), name, ...end },
      ...(error === null ? {} : { error_code: error.code, detail: error.detail }),
    },
  }
}

const contentOf = (row: CallRow, tags: Record<string, unknown>, payload: ReportPayload): object => {
  if (payload.event === 'stream') return streamOf(row, tags, payload)
  if (payload.event !== 'recording') return statusOf(row, tags, payload)
  const { recording, seconds, url } = payload
  return {
    event: 'call.recording.ready',
    call: nativeCall(programCallOf(row, tags)),
    result: { recording_uuid: print('REC', recording), recording_url: url, seconds },
  }
}

/** Returns who gets a report, and the application whose secret signs it. */
const targetOf = (payload: ReportPayload, row: CallRow) => {
  if (payload.event === 'stream') return payload
  if (payload.event !== 'recording') return row.callbacks
  return { url: payload.to, method: payload.method ?? 'POST', application: row.application_id }
}

/** Reports the statuses of calls, those of one call in order: by its key, a job that is tried again holds back the next. */
export const callbackJob = (deps: CallbackDeps): JobKind<ReportPayload, void> => {
  const { db, log, outbound, sandboxAccounts, version, signingKeys } = deps
  const share = makeRequestShare()

  /** Returns why a callback was not taken; null if it was. */
  const post = async (
    job: Job<ReportPayload>,
    row: CallRow,
    { url, method, application }: Pick<NonNullable<CallRow['callbacks']>, 'url' | 'method' | 'application'>,
    signal: AbortSignal,
  ): Promise<string | null> => {
    const content = contentOf(row, await findTags(db, row.account_id, row.id), job.payload)
    const isGet = method === 'GET'
    const body = isGet ? '' : JSON.stringify(content)
    const keys = await signingKeys(row.account_id, application)
    const leave = await share.enter(row.account_id, url, signal)
    try {
      const { status } = await outbound.of(sandboxAccounts.has(row.account_id)).post({
        ...{ method, signal, timeoutMs: callbackTimeoutMs, maxBytes: maxCallbackAnswerBytes },
        ...(isGet ? { url: withQuery(url, content), body: null } : { url, body }),
        headers: {
          ...(isGet ? {} : { 'content-type': 'application/json' }),
          'user-agent': `Trunkline/${version}`,
          // The same at each attempt, so that the receiver recognises it.
          ...signatureHeaders(keys, print('JOB', job.id), body, Date.now()),
        },
      })
      return status >= 200 && status < 300 ? null : `the receiver answered ${status}`
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error
      if (signal.aborted) throw new Snooze('the process is stopping', 1)
      return error.message
    } finally {
      leave()
    }
  }

  const report = async (job: Job<ReportPayload>, row: CallRow, signal: AbortSignal): Promise<void> => {
    const { payload } = job
    const target = targetOf(payload, row)
    if (!target) return
    const reason = await post(job, row, target, signal)
    if (reason === null) return
    const pause = callbackPauses[job.attempt - 1]
    if (pause !== undefined) throw new Retry(reason, pause)
    // The call itself has the status, so no dead job is left.
    const fields = { account: row.account_id, call: row.id, url: target.url, event: payload.event, reason }
    log.warn(fields, 'calls: status callback failed')
  }

  return {
    ...share.kind,
    kind: callbackKinds.native,
    maxAttempts: callbackPauses.length + 2,
    run: async (job, signal) => {
      const { account, payload } = job
      if (account === null) return
      await share.hold(account, async () => {
        const row = await find(db, account, payload.call)
        if (row) await report(job, row, signal)
      })
    },
  }
}
