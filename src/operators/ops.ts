import type { Tx } from '../db/sql.ts'
import { print, uuid } from '../lib/id.ts'
import { keyHash, makeKey } from '../lib/secret.ts'
import * as store from './store.ts'

/** Gives the operator a key: a new one, or the one that the settings name. The key itself is not kept. */
export const issueOperatorKey = async (tx: Tx, label: string, key = makeKey('OPK')) => {
  const id = uuid()
  await store.add(tx, id, label, keyHash(key), key.slice(-4))
  return { uuid: print('KEY', id), label, key }
}
