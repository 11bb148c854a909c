import { type Job, Later } from '../jobs/kind.ts'

export type Aged = Pick<Job, 'runAt' | 'createdAt'>

/** Seconds from when a job was asked for until it was due this time, by the platform's clock. */
export const ageOf = ({ runAt, createdAt }: Aged): number =>
  Math.max(0, (runAt.getTime() - createdAt.getTime()) / 1_000)

/**
 * Puts a job off without counting an attempt. What has waited for long is put off for longer: half its age, in these bounds, so
 * that a thousand that wait are looked at a few times each and not all the time. A quarter more or less parts them.
 * @param waitsFor what would bring it to its time at once
 */
export const putOff = (
  job: Aged,
  reason: string,
  { least, most }: { least: number; most: number },
  waitsFor: string | null = null,
): never => {
  const seconds = Math.min(most, Math.max(least, ageOf(job) / 2))
  throw new Later(reason, seconds * (0.75 + Math.random() / 2), waitsFor)
}

/** As a network asks for it: for so many seconds, and for up to a minute as time goes by. No attempt is counted. */
export const asTold = (job: Aged, { reason, seconds }: { reason: string; seconds: number }): never => {
  throw new Later(reason, Math.max(seconds, Math.min(60, ageOf(job) / 20)))
}
