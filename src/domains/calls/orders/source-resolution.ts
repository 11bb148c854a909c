import type { Sql } from '../../../platform/db/sql.ts'
import type { Seal } from '../../../platform/lib/secret.ts'
import { signingKeyOf } from '../../../platform/lib/webhook-signature.ts'
import { type ApplicationRow, findApplication } from '../../applications/ops.ts'
import { ordinaryProgramMs } from '../limits.ts'
import { readVerbs } from '../programs/document.ts'
import { ProgramError, type ResolvedProgram } from '../programs/program.ts'
import type { CallCallbacks, ProgramSource } from '../programs/program-source.ts'

type ResolutionDeps = { readonly db: Sql; readonly seal: Seal }

/** Returns who gets the statuses of the calls of an application; null: nobody. */
export const callbacksOfApplication = (row: ApplicationRow): CallCallbacks | null =>
  row.status_url === null
    ? null
    : {
        ...{ url: row.status_url, method: row.status_method, events: row.status_events, shape: row.format },
        application: row.id,
      }

/**
 * Returns a program with everything that its requests need. @throws ProgramError for wrong verbs, and for an application that
 * is gone
 */
export const resolveSource = async (
  { db, seal }: ResolutionDeps,
  account: string,
  source: ProgramSource,
): Promise<ResolvedProgram> => {
  const common = {
    ...{ account, application: null, fallback: null, callbacks: null, secret: null },
    ...{ shape: source.shape, timeoutMs: ordinaryProgramMs[source.shape] },
  }
  if (source.kind === 'verbs') return { ...common, begin: readVerbs(source.verbs, source.base_url) }
  if (source.kind === 'url') {
    const { url, method, fallback_url, fallback_method, shape, status_url, status_method = 'POST' } = source
    const fallback = fallback_url === null ? null : { url: fallback_url, method: fallback_method }
    const callbacks: CallCallbacks | null = status_url
      ? { url: status_url, method: status_method, events: ['completed'], shape, application: null }
      : null
    return { ...common, fallback, callbacks, begin: { url, method } }
  }
  const row = await findApplication(db, account, source.application)
  if (!row) throw new ProgramError('unreachable', 'the application does not exist')
  return {
    ...{ account, application: row.id, shape: row.format, timeoutMs: row.timeout_seconds * 1_000 },
    begin: { url: row.url, method: row.method },
    fallback: row.fallback_url === null ? null : { url: row.fallback_url, method: row.fallback_method },
    secret: signingKeyOf(seal.open(row.sealed_secret)),
    callbacks: callbacksOfApplication(row),
  }
}
