import type { JobKind } from '../../../platform/jobs/job-kind.ts'
import type { Services } from '../../../services.ts'
import { callStatusJob } from './call-status-job.ts'
import { inboundJob } from './inbound-job.ts'
import { recordingJob } from './recording-job.ts'
import { statusJob } from './status-job.ts'
import { streamJob } from './stream-job.ts'

/** Requests to the programs of accounts. Triggers of the database add nearly all jobs of these kinds. */
export const twilioJobs = (services: Services): JobKind[] => [
  statusJob(services) as JobKind,
  inboundJob(services) as JobKind,
  callStatusJob(services) as JobKind,
  recordingJob(services) as JobKind,
  streamJob(services) as JobKind,
]
