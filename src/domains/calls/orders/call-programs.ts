import type { Outbound } from '../../../platform/lib/outbound.ts'
import type { ProgramRunner } from '../programs/program-deps.ts'
import type { ResolvedProgram } from '../programs/program.ts'
import type { ProgramSource } from '../programs/program-source.ts'

/** The programs of calls in the process that runs the calls. */
export type CallPrograms = {
  /** @throws ProgramError if it cannot run, such as one of a deleted application */
  resolve(account: string, source: ProgramSource): Promise<ResolvedProgram>
  /** Returns the keys that sign the requests of an application; null: of the account. */
  signingKeys(account: string, application: string | null): Promise<readonly Buffer[]>
  outboundOf(account: string): Outbound
  readonly runner: ProgramRunner
}
