import { backoff, type Job, type Log, Retry } from '../../../platform/jobs/job-kind.ts'
import { maxStatusAttempts } from '../limits.ts'
import { type Program, type ProgramDeps, ProgramError, requestProgram } from './program-request.ts'
import type { Parameters } from './signature.ts'

/**
 * Makes the report of a job, whose answer does not matter.
 * @throws Retry for a failure that a repetition may overcome. Another one is logged: its resource has the status, so no dead
 * job is left
 */
export const reportTo = async (
  log: Log,
  deps: ProgramDeps,
  program: Program,
  parameters: Parameters,
  { id, account, kind, attempt, payload }: Job<object>,
): Promise<void> => {
  try {
    await requestProgram(deps, program, parameters, id)
  } catch (error) {
    if (!(error instanceof ProgramError)) throw error
    if (deps.signal.aborted || (error.isTransient && attempt < maxStatusAttempts))
      throw new Retry(error.message, backoff(attempt))
    log.warn({ ...payload, account, kind, url: program.url, reason: error.message }, 'twilio: callback failed')
  }
}
