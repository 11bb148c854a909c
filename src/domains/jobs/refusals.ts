import { conflict, notFound } from '../../platform/http/problem.ts'

export const refusals = {
  unknownDeadJob: (job: string) => notFound(`No dead job ${job}`).at('job_uuid'),
  settled: (kind: string) =>
    conflict(
      `The failure of this ${kind} job took effect, so it cannot run again: repeat the request that caused it`,
      'job_settled',
    ).at('job_uuid'),
}
