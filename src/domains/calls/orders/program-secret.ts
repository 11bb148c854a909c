import type { Sql, Tx } from '../../../platform/db/sql.ts'
import type { Seal } from '../../../platform/lib/secret.ts'
import { formatSigningSecret, makeSigningSecret, signingKeyOf } from '../../../platform/lib/webhook-signature.ts'
import { findProgramSecret, replaceProgramSecret } from './program-secret-store.ts'

// The secret of an account that signs requests to programs and status callbacks without an application.

/** `previous`: the one before it, which also signs for a day after the rotation; null: none does. */
type ProgramSecret = {
  readonly secret: string
  readonly previous: { readonly secret: string; readonly until: Date } | null
}

/** The secret that an account has until it rotates it. */
const firstSecretOf = (seal: Seal, account: string): string =>
  formatSigningSecret(seal.derive(`call programs ${account}`))

export const programSecretOf = async (sql: Sql, seal: Seal, account: string): Promise<ProgramSecret> => {
  const row = await findProgramSecret(sql, account)
  if (!row) return { secret: firstSecretOf(seal, account), previous: null }
  const { sealed_secret: sealed, sealed_previous_secret: previous, previous_until: until } = row
  return { secret: seal.open(sealed), previous: previous && { secret: seal.open(previous), until } }
}

/** Returns the keys that sign now, the newest first. */
export const programKeysOf = async (sql: Sql, seal: Seal, account: string): Promise<readonly Buffer[]> => {
  const { secret, previous } = await programSecretOf(sql, seal, account)
  return [secret, ...(previous ? [previous.secret] : [])].map(signingKeyOf)
}

/** Makes a new secret. `until`: the end of the previous one. */
export const rotateProgramSecret = async (tx: Tx, seal: Seal, account: string) => {
  const secret = makeSigningSecret()
  const first = seal.close(firstSecretOf(seal, account))
  const { previous_until: until } = await replaceProgramSecret(tx, account, seal.close(secret), first)
  return { secret, until }
}
