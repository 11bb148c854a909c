import { setTimeout as pause } from 'node:timers/promises'
import type { Db, Tx } from '../../../platform/db/sql.ts'
import { enqueue } from '../../../platform/jobs/queue.ts'
import type { Clock } from '../../../platform/lib/clock.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { makeKeyedQueue } from '../../../platform/lib/serial-queue.ts'
import { streamReportPauses } from '../limits.ts'
import { callbackKinds } from '../orders/callback-kinds.ts'
import type { ProgramCall, VerbResult } from '../programs/program.ts'
import { addOpenStream, isOpenStream, removeOpenStream, type StreamCallback, takeStreamsOf } from './stream-store.ts'

/**
 * A change of a stream. One that opens has `started` and, at its end, `stopped`. An error that ends it comes before that;
 * a stream that does not open has the error alone.
 */
export type StreamReport = {
  /** Uuid of the stream. */
  readonly stream: string
  readonly name: string | null
  readonly change: 'started' | 'stopped' | 'error'
  /** `detail`: for people. */
  readonly error: { readonly code: string; readonly detail: string } | null
  /** The result of the stream, once it has stopped. */
  readonly end: VerbResult | null
}

/** Payload of the reports of streams, in both shapes. `at`: ISO 8601. */
export type StreamPayload = StreamReport &
  Omit<StreamCallback, 'shape'> & { readonly event: 'stream'; readonly call: string; readonly at: string }

/** Job kind of the reports of streams in the shape of Twilio. Its payload is a StreamPayload. */
export const twilioStreamKind = 'twilio.stream_status'

/** Reports a change of a stream, by a job. Must not throw. */
export type ReportStream = (call: ProgramCall, callback: StreamCallback, report: StreamReport) => void

type ReportDeps = {
  readonly db: Pick<Db, 'begin'>
  readonly clock: Pick<Clock, 'now'>
  onError(error: unknown): void
  /** Seconds between the attempts to store a report. */
  readonly pauses?: readonly number[]
}

/** Kind, payload and options of the job of a report. */
type ReportJob = readonly [kind: string, payload: StreamPayload, options: { id: string; account: string; key: string }]

/** A new id with each call: jobs of a call run in the order of their ids. */
const jobOf = (
  { account, call, at }: { readonly account: string; readonly call: string; readonly at: Date },
  { shape, ...callback }: StreamCallback,
  report: StreamReport,
): ReportJob => [
  shape === 'twilio' ? twilioStreamKind : callbackKinds.native,
  { event: 'stream', call, at: at.toISOString(), ...callback, ...report },
  { id: uuid(), account, key: call },
]

/** Makes what adds the jobs that report the streams of calls, those of one call in order. */
export const makeReportStream = ({ db, clock, onError, pauses = streamReportPauses }: ReportDeps): ReportStream => {
  const inOrder = makeKeyedQueue()
  /** Streams that `reportLeftStreams` would find. */
  const open = new Set<string>()

  /** Adds a job. With the first report of a stream, notes that the last one is due; with the last, that it is made. */
  const add = async (job: ReportJob, callback: StreamCallback): Promise<void> => {
    const [, { call, stream, name, change }, { account }] = job
    const isStored = await db.begin(async (tx) => {
      const isLast = change === 'stopped'
      // The call was closed meanwhile, as this process was taken for dead: that has reported the end.
      const isDue = isLast
        ? (await removeOpenStream(tx, account, call, stream)) > 0
        : change === 'started' || (await isOpenStream(tx, account, call, stream))
      if (!isDue && open.has(stream)) return false
      await enqueue(tx, ...job)
      if (change !== 'started') return open.has(stream) && !isLast
      return (await addOpenStream(tx, { account_id: account, call_id: call, id: stream, name, callback })) > 0
    })
    if (isStored) open.add(stream)
    else open.delete(stream)
  }

  /** Adds a job, and again later if the database cannot be reached: a stream goes on without it. */
  const addAtLast = async (job: ReportJob, callback: StreamCallback): Promise<void> => {
    for (const seconds of [...pauses, null])
      try {
        return await add(job, callback)
      } catch (error) {
        if (seconds === null) throw error
        await pause(seconds * 1_000, undefined, { ref: false })
      }
  }

  return ({ account, id: call }, callback, report) => {
    const job = jobOf({ account, call, at: new Date(clock.now()) }, callback, report)
    inOrder(call, () => addAtLast(job, callback)).catch(onError)
  }
}

/**
 * Reports the end of the streams of a call whose process did not, as it is gone, once each and in the order of their starts.
 * @param now the platform's time
 * @param endedAt the end of the call
 */
export const reportLeftStreams = async (
  tx: Tx,
  account: string,
  call: string,
  { now, endedAt }: { readonly now: Date; readonly endedAt: Date },
): Promise<void> => {
  for (const { id: stream, name, callback, started_at } of await takeStreamsOf(tx, account, call)) {
    const seconds = Math.max(0, endedAt.getTime() - started_at.getTime()) / 1_000
    const end = { reason: 'interrupted', code: null, seconds }
    const job = jobOf({ account, call, at: now }, callback, { stream, name, change: 'stopped', error: null, end })
    await enqueue(tx, ...job)
  }
}
