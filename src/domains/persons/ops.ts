import type { Db } from '../../platform/db/sql.ts'
import { makeClaimLink } from './invitations/links.ts'
import * as store from './store.ts'

/** Returns a new claim link; null if the installation has its first person. @param base public URL */
export const newClaimLink = async (db: Db, base: string): Promise<string | null> => {
  if (await store.isClaimed(db)) return null
  return (await db.begin((tx) => makeClaimLink(tx, base, 'system'))).url
}
