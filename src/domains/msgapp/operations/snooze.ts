import { type Job, Snooze } from '../../../platform/jobs/job-kind.ts'

export type TimedJob = Pick<Job, 'runAt' | 'createdAt'>

/** Returns the age of a job when it became due this time: seconds since its request, by the platform clock. */
export const jobAgeSeconds = ({ runAt, createdAt }: TimedJob): number =>
  Math.max(0, (runAt.getTime() - createdAt.getTime()) / 1_000)

/**
 * Snoozes a job without counting an attempt. The delay is half the job's age within the bounds, ± 25 %. A thousand
 * waiting jobs are thus retried a few times each, and not all at once.
 * @param waitsFor event that makes the job due at once
 */
export const snooze = (
  job: TimedJob,
  reason: string,
  { least, most }: { least: number; most: number },
  waitsFor: string | null = null,
): never => {
  const seconds = Math.min(most, Math.max(least, jobAgeSeconds(job) / 2))
  throw new Snooze(reason, seconds * (0.75 + Math.random() / 2), waitsFor)
}

/** Snoozes for the network's delay, or longer as the job ages, up to a minute. No attempt is counted. */
export const snoozeForNetwork = (job: TimedJob, { reason, seconds }: { reason: string; seconds: number }): never => {
  throw new Snooze(reason, Math.max(seconds, Math.min(60, jobAgeSeconds(job) / 20)))
}
