import { findMessage } from '../../../domains/sms/ops.ts'
import { backoff, type Job, type JobKind, Retry, Snooze } from '../../../platform/jobs/job-kind.ts'
import type { Services } from '../../../services.ts'
import {
  blockedCheckSeconds,
  callbackBatch,
  maxBlockedSeconds,
  maxHeldCallbacks,
  maxStatusAttempts,
} from '../limits.ts'
import * as store from '../store.ts'
import { accessOf } from './account-access.ts'
import { type StatusChange, statusParameters } from './parameters.ts'
import { ProgramError, requestProgram } from './program-request.ts'
import { makeProgramShare } from './program-share.ts'

/** Jobs that report a status of a message. A trigger of the database adds them (migration twilio). */
export const statusKind = 'twilio.status'

type StatusPayload = StatusChange & { readonly message: string }

/** Reports each status of a message, one after the other. */
export const statusJob = (services: Services): JobKind<StatusPayload, void> => {
  const { db, log, clock } = services
  const share = makeProgramShare()

  /** Keeps a callback while its account is blocked, for a day. @throws Snooze */
  const keepWhileBlocked = async ({ createdAt }: Job<StatusPayload>, account: string): Promise<void> => {
    const age = (clock.now() - createdAt.getTime()) / 1_000
    if (services.config.compat === 'off' || age > maxBlockedSeconds || !(await store.isBlocked(db, account))) return
    const { least, most } = blockedCheckSeconds
    throw new Snooze('the account is blocked', Math.min(most, Math.max(least, age / 4)))
  }

  const report = async (job: Job<StatusPayload>, account: string, signal: AbortSignal): Promise<void> => {
    const { id, payload, attempt } = job
    const access = await accessOf(services, account, share, signal)
    if (!access) return await keepWhileBlocked(job, account)
    const row = await findMessage(db, account, payload.message)
    const url = row && (await store.callbackOf(db, account, payload.message))
    if (!row || !url) return
    try {
      await requestProgram(access.deps, { url, method: 'POST' }, statusParameters(account, row, payload), id)
    } catch (error) {
      if (!(error instanceof ProgramError)) throw error
      const fields = { account, message: payload.message, url, status: payload.status, reason: error.message }
      if (signal.aborted || (error.isTransient && attempt < maxStatusAttempts))
        throw new Retry(error.message, backoff(attempt))
      // The message itself has the status, so no dead job is left.
      log.warn(fields, 'twilio: status callback failed')
    }
  }

  return {
    kind: statusKind,
    concurrency: maxHeldCallbacks,
    batch: callbackBatch,
    leaseSeconds: 60,
    maxAttempts: maxStatusAttempts + 1,
    fair: true,
    capacity: share.capacity,
    onStopping: share.close,
    run: async (job, signal) => {
      const { account } = job
      if (account !== null) await share.hold(account, () => report(job, account, signal))
    },
  }
}
