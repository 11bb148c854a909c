import { findMessage } from '../../../domains/sms/ops.ts'
import type { Job, JobKind } from '../../../platform/jobs/job-kind.ts'
import type { Services } from '../../../services.ts'
import { callbackConcurrency, maxStatusAttempts } from '../limits.ts'
import * as store from '../store.ts'
import { accessOf } from './account-access.ts'
import { type StatusChange, statusParameters } from './parameters.ts'
import { reportTo } from './report.ts'

/** Jobs that report a status of a message. A trigger of the database adds them (migration twilio). */
export const statusKind = 'twilio.status'

type StatusPayload = StatusChange & { readonly message: string }

/** Reports each status of a message, one after the other. */
export const statusJob = (services: Services): JobKind<StatusPayload, void> => {
  const { db, log } = services
  return {
    kind: statusKind,
    concurrency: callbackConcurrency,
    batch: callbackConcurrency,
    leaseSeconds: 60,
    maxAttempts: maxStatusAttempts + 1,
    fair: true,
    run: async (job: Job<StatusPayload>, signal) => {
      const { account, payload } = job
      if (account === null) return
      const access = await accessOf(services, account, signal)
      const row = access && (await findMessage(db, account, payload.message))
      const url = row && (await store.callbackOf(db, account, payload.message))
      if (!access || !row || !url) return
      await reportTo(log, access.deps, { url, method: 'POST' }, statusParameters(account, row, payload), job)
    },
  }
}
