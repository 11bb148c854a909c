import { setTimeout as pause } from 'node:timers/promises'
import type { Db } from '../../../platform/db/sql.ts'
import { enqueue } from '../../../platform/jobs/queue.ts'
import type { Clock } from '../../../platform/lib/clock.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { makeKeyedQueue } from '../../../platform/lib/serial-queue.ts'
import { streamReportPauses } from '../limits.ts'
import { callbackKinds } from '../orders/callback-kinds.ts'
import type { ProgramCall, ResolvedProgram, VerbResult } from '../programs/program.ts'

/** The receiver of the reports of a stream. `application`: whose secret signs native ones; null: that of the account. */
type StreamCallback = {
  readonly url: string
  readonly method: 'GET' | 'POST'
  readonly shape: ResolvedProgram['shape']
  readonly application: string | null
}

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

/** Makes what adds the jobs that report the streams of calls, those of one call in order. */
export const makeReportStream = ({ db, clock, onError, pauses = streamReportPauses }: ReportDeps): ReportStream => {
  const inOrder = makeKeyedQueue()

  /** Adds a job, and again later if the database cannot be reached: a stream goes on without it. */
  const add = async (kind: string, payload: StreamPayload, options: { id: string; account: string; key: string }) => {
    for (const seconds of [...pauses, null])
      try {
        return await db.begin((tx) => enqueue(tx, kind, payload, options))
      } catch (error) {
        if (seconds === null) throw error
        await pause(seconds * 1_000, undefined, { ref: false })
      }
  }

  return ({ account, id: call }, { shape, ...callback }, report) => {
    const at = new Date(clock.now()).toISOString()
    const payload: StreamPayload = { event: 'stream', call, at, ...callback, ...report }
    const kind = shape === 'twilio' ? twilioStreamKind : callbackKinds.native
    // The id is made now: jobs of a call run in the order of their ids.
    const options = { id: uuid(), account, key: call }
    inOrder(call, () => add(kind, payload, options)).catch(onError)
  }
}
