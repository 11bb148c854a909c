import { backoff, type Job, type JobKind, Retry, Snooze } from '../../../platform/jobs/job-kind.ts'
import { makeRequestShare } from '../../../platform/jobs/request-share.ts'
import type { Services } from '../../../services.ts'
import { blockedCheckSeconds, maxBlockedSeconds, maxStatusAttempts } from '../limits.ts'
import * as store from '../store.ts'
import { accessOf } from './account-access.ts'
import { type Program, RequestError, requestProgram } from './program-request.ts'
import type { Parameters } from './signature.ts'

/** A report to the program of an account, whose answer does not matter. */
export type Report = { readonly to: Program; readonly parameters: Parameters }

/**
 * A kind of jobs that report to the programs of accounts, those of one key in order. A report that fails is tried again; then
 * it is logged, and no dead job is left, as its resource has the status too.
 * @param reportOf returns the report of a job; null: there is nobody to report to
 */
export const reportJob = <P extends object>(
  services: Services,
  kind: string,
  reportOf: (account: string, payload: P) => Promise<Report | null>,
): JobKind<P, void> => {
  const { db, log, clock, config } = services
  const share = makeRequestShare()

  /** Keeps a report while its account is blocked, for a day. @throws Snooze */
  const keepWhileBlocked = async ({ createdAt }: Job<P>, account: string): Promise<void> => {
    const age = (clock.now() - createdAt.getTime()) / 1_000
    if (config.compat === 'off' || age > maxBlockedSeconds || !(await store.isBlocked(db, account))) return
    const { least, most } = blockedCheckSeconds
    throw new Snooze('the account is blocked', Math.min(most, Math.max(least, age / 4)))
  }

  const report = async (job: Job<P>, account: string, signal: AbortSignal): Promise<void> => {
    const { id, payload, attempt } = job
    const access = await accessOf(services, account, share, signal)
    if (!access) return await keepWhileBlocked(job, account)
    const found = await reportOf(account, payload)
    if (!found) return
    try {
      await requestProgram(access.deps, found.to, found.parameters, id)
    } catch (error) {
      if (!(error instanceof RequestError)) throw error
      if (signal.aborted || (error.isTransient && attempt < maxStatusAttempts))
        throw new Retry(error.message, backoff(attempt))
      const fields: Record<string, unknown> = { ...payload, account, kind, url: found.to.url, reason: error.message }
      log.warn(fields, 'twilio: callback failed')
    }
  }

  return {
    ...share.kind,
    kind,
    maxAttempts: maxStatusAttempts + 1,
    run: async (job, signal) => {
      const { account } = job
      if (account !== null) await share.hold(account, () => report(job, account, signal))
    },
  }
}
