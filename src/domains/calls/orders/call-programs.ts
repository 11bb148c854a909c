import type { Outbound } from '../../../platform/lib/outbound.ts'
import type { ResolvedProgram } from '../programs/program.ts'
import type { ProgramDeps, ProgramRunner } from '../programs/program-deps.ts'
import type { ProgramSource } from '../programs/program-source.ts'

/** The part of call control that programs need. */
export type ProgramControl = Pick<ProgramDeps, 'placeChild' | 'recordings' | 'onStep'>

/** The programs of calls in the process that runs the calls. */
export type CallPrograms = {
  /** @throws ProgramError if it cannot run, such as one of a deleted application */
  resolve(account: string, source: ProgramSource): Promise<ResolvedProgram>
  /** Returns the keys that sign the requests of an application; null: of the account. */
  signingKeys(account: string, application: string | null): Promise<readonly Buffer[]>
  outboundOf(account: string): Outbound
  readonly runner: ProgramRunner
  /** Connects them with the call control that runs the calls of this process. */
  connect(control: ProgramControl): void
  /** Ends what prepares sounds. */
  close(): Promise<void>
}
