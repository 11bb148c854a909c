import type { Tx } from '../../platform/db/sql.ts'
import type { OperatorKey } from '../../platform/http/auth.ts'
import { print, uuid } from '../../platform/lib/id.ts'
import { keyHash, makeKey } from '../../platform/lib/secret.ts'
import * as store from './store.ts'

type IssuedKey = { uuid: string; label: string; role: OperatorKey['role']; key: string; isNew: boolean }

/** Issues an operator key: a new one, or the one from the settings. Only its hash is stored. */
export const issueOperatorKey = async (
  tx: Tx,
  label: string,
  { key = makeKey('OPK'), role = 'operator' }: { key?: string | undefined; role?: OperatorKey['role'] } = {},
): Promise<IssuedKey> => {
  const id = uuid()
  const added = await store.add(tx, { id, label, role, hash: keyHash(key), last_four: key.slice(-4) })
  return { uuid: print('KEY', id), label, role, key, isNew: added === 1 }
}
