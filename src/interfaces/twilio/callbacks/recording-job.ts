import { recordingLinks } from '../../../domains/calls/recordings/recording-links.ts'
import { twilioRecordingKind } from '../../../domains/calls/recordings/recording-status.ts'
import { findRecordingRow } from '../../../domains/calls/recordings/recording-store.ts'
import type { Job, JobKind } from '../../../platform/jobs/job-kind.ts'
import type { Services } from '../../../services.ts'
import { callbackConcurrency, maxStatusAttempts } from '../limits.ts'
import { accessOf } from './account-access.ts'
import { recordingParameters } from './call-parameters.ts'
import { reportTo } from './report.ts'

type RecordingPayload = {
  readonly recording: string
  readonly call: string
  readonly url: string
  readonly method: 'GET' | 'POST'
}

/** Reports stored recordings to the addresses that the programs of their calls named. */
export const recordingJob = (services: Services): JobKind<RecordingPayload, void> => {
  const { pathUrlOfRecording } = recordingLinks(services)
  return {
    kind: twilioRecordingKind,
    concurrency: callbackConcurrency,
    batch: callbackConcurrency,
    leaseSeconds: 60,
    maxAttempts: maxStatusAttempts + 1,
    fair: true,
    run: async (job: Job<RecordingPayload>, signal) => {
      const { account, payload } = job
      if (account === null) return
      const access = await accessOf(services, account, signal)
      const row = access && (await findRecordingRow(services.db, account, payload.recording))
      if (!access || !row) return
      const { url, method } = payload
      const parameters = recordingParameters(pathUrlOfRecording, row)
      await reportTo(services.log, access.deps, { url, method }, parameters, job)
    },
  }
}
