import { lookUp, makeExistenceCheck } from '../../../platform/http/auth-throttle.ts'
import { keyHash } from '../../../platform/lib/secret.ts'
import type { Services } from '../../../services.ts'
import { refusals } from '../refusals.ts'
import * as store from './store.ts'

/** Returns a function that finds the hash of the token of a link. Unknown ones are throttled by address. It throws Problem
 *  404 and 429. */
export const makeTokenLookup = ({ db, authThrottle }: Pick<Services, 'db' | 'authThrottle'>) => {
  const tokens = {
    cached: () => null,
    find: (token: string) => store.find(db, keyHash(token)),
    exists: makeExistenceCheck((hashes) => store.existing(db, hashes)),
  }
  return async (address: string, token: string): Promise<Buffer> => {
    await lookUp(authThrottle, address, token, tokens, refusals.unknownInvitation)
    return keyHash(token)
  }
}
