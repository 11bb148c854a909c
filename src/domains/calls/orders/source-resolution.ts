import { readVerbs } from '../programs/document.ts'
import { ProgramError, type ResolvedProgram } from '../programs/program.ts'
import type { ProgramSource } from '../programs/program-source.ts'

/** Milliseconds for an answer of a program that is no application. */
const ordinaryTimeoutMs = 8_000

/** Returns a program that needs no application. @throws ProgramError for one that does, and for wrong verbs */
export const sourceWithoutApplication = (account: string, source: ProgramSource): ResolvedProgram => {
  const { shape } = source
  const common = { account, application: null, fallback: null, shape, timeoutMs: ordinaryTimeoutMs, secret: null }
  if (source.kind === 'verbs') return { ...common, begin: readVerbs(source.verbs, source.base_url) }
  if (source.kind === 'application') throw new ProgramError('unreachable', 'the application does not exist')
  const { url, method, fallback_url, fallback_method } = source
  const fallback = fallback_url === null ? null : { url: fallback_url, method: fallback_method }
  return { ...common, fallback, begin: { url, method } }
}
