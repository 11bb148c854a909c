import { type StreamPayload, streamStatusKind } from '../../../domains/calls/compat/ops.ts'
import type { JobKind } from '../../../platform/jobs/job-kind.ts'
import type { Services } from '../../../services.ts'
import { streamParameters } from './call-parameters.ts'
import { reportJob } from './report.ts'

/** Reports the changes of streams to the addresses that the programs of their calls named. */
export const streamJob = (services: Services): JobKind<StreamPayload, void> =>
  reportJob<StreamPayload>(services, streamStatusKind, async (account, payload) => ({
    to: { url: payload.url, method: payload.method },
    parameters: streamParameters(account, payload),
  }))
