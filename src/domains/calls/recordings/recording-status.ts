import type { Tx } from '../../../platform/db/sql.ts'
import { enqueue } from '../../../platform/jobs/queue.ts'
import type { ReadyRecording } from '../ops.ts'
import { callbackKinds } from '../orders/callback-kinds.ts'

/** The receiver of a recording once it is stored, and the shape for it. */
export type RecordingCallback = {
  readonly url: string
  readonly method: 'GET' | 'POST'
  readonly shape: 'native' | 'twilio'
}

/** Payload of the native report of a recording. `to`, `method`: who gets it, POST without one; `url`: of its file. */
export type RecordingPayload = {
  readonly call: string
  readonly event: 'recording'
  readonly recording: string
  readonly seconds: number
  readonly url: string
  readonly to: string
  readonly method?: 'GET' | 'POST'
}

/** Payload of the report of a recording in the shape of Twilio. `url`, `method`: who gets it. Ids are without prefix. */
export type TwilioRecordingPayload = {
  readonly recording: string
  readonly call: string
  readonly url: string
  readonly method: 'GET' | 'POST'
}

/** Job kind of these reports. */
export const twilioRecordingKind = 'twilio.recording_status'

/** Adds the job that reports a stored recording, if somebody asked for it. */
export const reportRecording = async (
  tx: Tx,
  account: string,
  call: string,
  { id, seconds, url }: ReadyRecording,
): Promise<void> => {
  const found = await tx.maybe<{ status_callback: RecordingCallback | null }>`
    select status_callback from call_recordings where account_id = ${account} and id = ${id}`
  const callback = found?.status_callback
  if (!callback) return
  const options = { account, key: call }
  if (callback.shape === 'twilio') {
    const payload: TwilioRecordingPayload = { recording: id, call, url: callback.url, method: callback.method }
    await enqueue(tx, twilioRecordingKind, payload, options)
    return
  }
  const { url: to, method } = callback
  const payload: RecordingPayload = { call, event: 'recording', recording: id, seconds, url, to, method }
  await enqueue(tx, callbackKinds.native, payload, options)
}
