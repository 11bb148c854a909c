import type { Db } from '../../platform/db/sql.ts'
import { takeTask } from '../installation/ops.ts'
import { makeClaimLink } from './invitations/links.ts'
import * as store from './store.ts'

/**
 * Returns a new claim link. Null if the installation has its first person, or if another process that runs has shown a
 * link: one of several processes shows one.
 * @param base public URL
 * @param process id of this process among those of the installation; null if it is alone
 */
export const newClaimLink = async (db: Db, base: string, process: string | null): Promise<string | null> => {
  if (await store.isClaimed(db)) return null
  return await db.begin(async (tx) => {
    if (process !== null && !(await takeTask(tx, 'claim-link', process))) return null
    return (await makeClaimLink(tx, base, 'system')).url
  })
}
