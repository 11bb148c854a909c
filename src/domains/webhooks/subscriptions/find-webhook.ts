import type { Sql } from '../../../platform/db/sql.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { parse } from '../../../platform/lib/id.ts'
import { refusals } from '../refusals.ts'
import * as store from '../store.ts'

/** Returns a webhook by its printed id. @throws the 404 Problem */
export const findWebhook = async (sql: Sql, account: string, printed: string) => {
  const id = parse('WHK', printed)
  return (id && (await store.find(sql, account, id))) || refuse(refusals.unknownWebhook(printed))
}

/** Returns an enabled webhook by its printed id. @throws the 404 or 409 Problem */
export const findEnabledWebhook = async (sql: Sql, account: string, printed: string) => {
  const row = await findWebhook(sql, account, printed)
  return row.enabled ? row : refuse(refusals.webhookDisabled(printed))
}
