import type { Sql, Tx } from '../../platform/db/sql.ts'

/** Adds a Device of a user. @returns its generation */
export const addDevice = async (tx: Tx, account: string, user: string): Promise<number> =>
  (
    await tx.one<{ generation: number }>`
      insert into device_generations (account_id, user_id, generation) values (${account}, ${user}, 1)
      on conflict (account_id, user_id) do update set generation = device_generations.generation + 1
      returning generation`
  ).generation

/** Returns the generation of the newest Device; null before the first. */
export const generation = async (tx: Sql, account: string, user: string): Promise<number | null> =>
  (
    await tx.maybe<{ generation: number }>`
      select generation from device_generations where account_id = ${account} and user_id = ${user}`
  )?.generation ?? null
