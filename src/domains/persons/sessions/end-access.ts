import type { Tx } from '../../../platform/db/sql.ts'
import type { Services } from '../../../services.ts'
import { revokeTokensOfPerson } from '../../tokens/ops.ts'
import { endAccess } from '../visit.ts'

/**
 * Ends all that a person's browsers hold, and voice tokens of the person too: another one may have had the person until
 * now. @returns the number of sessions
 */
export const endAccessAndVoice = async (
  tx: Tx,
  services: Pick<Services, 'changes'>,
  person: string,
  except: string | null,
): Promise<number> => {
  await revokeTokensOfPerson(tx, services.changes, person)
  return (await endAccess(tx, services, person, except)).ended
}
