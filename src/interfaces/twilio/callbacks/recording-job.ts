import { recordingLinks } from '../../../domains/calls/recordings/recording-links.ts'
import { twilioRecordingKind } from '../../../domains/calls/recordings/recording-status.ts'
import { findRecordingRow } from '../../../domains/calls/recordings/recording-store.ts'
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
  const { pathUrlOfRecording } = recordingLinks(services)
  return reportJob<RecordingPayload>(services, twilioRecordingKind, async (account, { recording, url, method }) => {
    const row = await findRecordingRow(services.db, account, recording)
    return row && { to: { url, method }, parameters: recordingParameters(pathUrlOfRecording, row) }
  })
}
