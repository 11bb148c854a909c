import { quoteIdentifier } from '../../platform/db/identifier.ts'
import type { Session } from '../../platform/db/database-session.ts'

/** Tables that a restore and its checks read, and their names before migration 0060. */
const formerNames = [
  ['installation_state', 'facts'],
  ['msgapp_credentials', 'msgapp_vault'],
] as const

/**
 * Gives the rows of a backup made before migration 0060 the present names, as temporary views of the session. The
 * schema itself stays that of the backup: the next start of the platform migrates it.
 */
export const addPresentNames = async (session: Session): Promise<void> => {
  for (const [name, former] of formerNames) {
    const { needed } = await session.one<{ needed: boolean }>`
      select to_regclass(${name}) is null and to_regclass(${former}) is not null as needed`
    // The checks address rows by ctid, which a view shows only by name.
    if (needed)
      await session.raw(`create temp view ${quoteIdentifier(name)} as select ctid, * from ${quoteIdentifier(former)}`)
  }
}
