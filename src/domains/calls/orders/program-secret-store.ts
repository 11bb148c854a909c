import type { Sql, Tx } from '../../../platform/db/sql.ts'

/** The secret of an account. `sealed_previous_secret`: null once it no longer signs. */
export type ProgramSecretRow = {
  readonly sealed_secret: Buffer
  readonly sealed_previous_secret: Buffer | null
  readonly previous_until: Date
}

/** Returns null for a secret that was never rotated. */
export const findProgramSecret = (sql: Sql, account: string) => sql.maybe<ProgramSecretRow>`
  select sealed_secret, previous_until,
    case when previous_until > (select app_now()) then sealed_previous_secret end as sealed_previous_secret
  from program_secrets where account_id = ${account}`

/** Replaces the secret. The previous one also signs for a day. @param first the secret before the first rotation */
export const replaceProgramSecret = (tx: Tx, account: string, sealed: Buffer, first: Buffer) => tx.one<{
  previous_until: Date
}>`
  insert into program_secrets (account_id, sealed_secret, sealed_previous_secret, previous_until)
  values (${account}, ${sealed}, ${first}, (select app_now()) + interval '24 hours')
  on conflict (account_id) do update set sealed_secret = excluded.sealed_secret,
    sealed_previous_secret = program_secrets.sealed_secret, previous_until = excluded.previous_until
  returning previous_until`
