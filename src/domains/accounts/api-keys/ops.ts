import type { FastifyRequest } from 'fastify'
import type { Tx } from '../../../platform/db/sql.ts'
import type { AccountKey } from '../../../platform/http/auth.ts'
import { assertRevocable } from '../ops.ts'
import * as store from '../store.ts'
import { createKey } from './api-keys.ts'

/**
 * Creates a key of the account with the limits of the key of the request, and with a secret of the caller's own, such as a
 * token of another form. A key of a key is revoked with it, when its member leaves.
 * @throws Problem 403
 */
export const createKeyWith = async (
  tx: Tx,
  request: FastifyRequest,
  own: AccountKey,
  { label, secret }: { readonly label: string; readonly secret: string },
) => {
  const account = own.account.id
  const madeBy = request.sessionAccount?.userId ?? (await store.makerOfKey(tx, account, own.id))
  return await createKey(tx, request, account, { label }, own.limits, madeBy, secret)
}

/** Revokes a key of the account. The caller invalidates the topic `accounts`.
 *  @returns its label and last four characters; null if there is none @throws Problem 403 if it exceeds that of the request */
export const revokeKey = async (tx: Tx, own: AccountKey, id: string) => {
  const revoked = await store.revoke(tx, own.account.id, id)
  if (!revoked) return null
  const { scopes, ...shown } = revoked
  assertRevocable({ scopes }, own.limits)
  return shown
}
