import {
  findRecording,
  makeRecordingLinks,
  recordingStatusKind,
  type TwilioRecordingPayload,
} from '../../../domains/calls/compat/ops.ts'
import type { JobKind } from '../../../platform/jobs/job-kind.ts'
import type { Services } from '../../../services.ts'
import { recordingParameters } from './call-parameters.ts'
import { reportJob } from './report.ts'

/** Reports stored recordings to the addresses that the programs of their calls named. */
export const recordingJob = (services: Services): JobKind<TwilioRecordingPayload, void> => {
  const { pathUrlOfRecording } = makeRecordingLinks(services)
  return reportJob<TwilioRecordingPayload>(
    services,
    recordingStatusKind,
    async (account, { recording, url, method }) => {
      const row = await findRecording(services.db, account, recording)
      return row && { to: { url, method }, parameters: recordingParameters(pathUrlOfRecording, row) }
    },
  )
}
