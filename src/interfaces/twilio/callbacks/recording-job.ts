import { findRecording, makeRecordingLinks, recordingStatusKind } from '../../../domains/calls/compat/ops.ts'
import type { JobKind } from '../../../platform/jobs/job-kind.ts'
import type { Services } from '../../../services.ts'
import { recordingParameters } from './call-parameters.ts'
import { reportJob } from './report.ts'

type RecordingPayload = {
  readonly recording: string
  readonly call: string
  readonly url: string
  readonly method: 'GET' | 'POST'
}

/** Reports stored recordings to the addresses that the programs of their calls named. */
export const recordingJob = (services: Services): JobKind<RecordingPayload, void> => {
  const { pathUrlOfRecording } = makeRecordingLinks(services)
  return reportJob<RecordingPayload>(services, recordingStatusKind, async (account, { recording, url, method }) => {
    const row = await findRecording(services.db, account, recording)
    return row && { to: { url, method }, parameters: recordingParameters(pathUrlOfRecording, row) }
  })
}
