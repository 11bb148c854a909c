import type { Sql } from '../../../platform/db/sql.ts'
import type { ProgramRunner } from '../programs/program-deps.ts'
import type { ResolvedProgram } from '../programs/program.ts'
import type { ProgramSource } from '../programs/program-source.ts'

/** What calls of the API need to know of programs. */
export type CallPrograms = {
  /** Checks that the account has what a source names. @throws the 404 Problem */
  check(sql: Sql, account: string, source: ProgramSource): Promise<void>
  /** @throws ProgramError if it cannot run, such as one of a deleted application */
  resolve(sql: Sql, account: string, source: ProgramSource): Promise<ResolvedProgram>
  /** Returns the keys that sign the requests of an application; null: of the account. */
  signingKeys(sql: Sql, account: string, application: string | null): Promise<readonly Buffer[]>
  readonly runner: ProgramRunner
}
