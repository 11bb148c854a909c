import type { Sql, Tx } from '../../platform/db/sql.ts'
import type { Account } from '../../platform/http/auth.ts'
import { refuse } from '../../platform/http/problem.ts'
import { print, uuid } from '../../platform/lib/id.ts'
import type { Seal } from '../../platform/lib/secret.ts'
import { makeSigningSecret } from '../../platform/lib/webhook-signature.ts'
import * as events from './callback-events.ts'
import { answerSeconds, maxApplications } from './limits.ts'
import { refusals } from './refusals.ts'
import * as store from './store.ts'

export type ApplicationRow = store.ApplicationRow

export type CallbackEvent = events.CallbackEvent
/** Statuses of a call that its `status_url` may get, in their order. */
export const callbackEvents = events.callbackEvents

/** The program that a number or a call refers to. Addresses are absolute. `shape`: of its requests. */
export type ProgramReference =
  /** `application`: uuid without prefix. */
  | { readonly kind: 'application'; readonly application: string; readonly shape: 'native' | 'twilio' }
  | {
      readonly kind: 'url'
      readonly url: string
      readonly method: 'GET' | 'POST'
      readonly fallback_url: string | null
      readonly fallback_method: 'GET' | 'POST'
      /** Gets the ends of calls that come in, in the same shape. */
      readonly status_url?: string | null
      readonly status_method?: 'GET' | 'POST'
      readonly shape: 'native' | 'twilio'
    }

/** Values of fields that a request leaves out. */
const ordinary = {
  method: 'POST',
  fallback_url: null,
  fallback_method: 'POST',
  status_url: null,
  status_method: 'POST',
  status_events: ['completed'],
  format: 'native',
  timeout_seconds: answerSeconds.ordinary,
} satisfies Partial<store.ApplicationFields>

type NewApplication = Pick<store.ApplicationFields, 'name' | 'url'> & Partial<store.ApplicationFields>

/** Stores an application. @returns it with its secret @throws the 409 Problem if the account has too many */
export const addApplication = async (
  tx: Tx,
  seal: Seal,
  account: string,
  fields: NewApplication,
): Promise<{ readonly row: store.ApplicationRow; readonly secret: string }> => {
  if ((await store.countLocked(tx, account)) >= maxApplications) throw refusals.tooMany(maxApplications)
  const secret = makeSigningSecret()
  const row = await store.add(tx, account, uuid(), { ...ordinary, ...fields }, seal.close(secret))
  return { row, secret }
}

/** Changes an application. @param id without prefix, as in all functions here. Returns null if it does not exist */
export const changeApplication = async (
  tx: Tx,
  account: string,
  id: string,
  fields: Partial<store.ApplicationFields>,
): Promise<{ readonly before: store.ApplicationRow; readonly after: store.ApplicationRow } | null> => {
  const before = await store.lock(tx, account, id)
  return before && { before, after: await store.change(tx, account, id, { ...before, ...fields }) }
}

/**
 * Checks that a caller may let calls and messages of others run a program of its choice: it hears all of them, and dials and
 * answers for the account, whatever a key may spend.
 * @param account of the caller @param contents that the caller may see @param field that names the program @throws the 403 Problem
 */
export const assertMayRunProgram = (
  { limitedKeys }: Pick<Account, 'limitedKeys'>,
  contents: { readonly messages: boolean },
  field: string,
): void => {
  if (limitedKeys !== null) throw refusals.programOfLimitedKey(field)
  if (!contents.messages) throw refusals.programNotAllowed(field)
}

/** Returns the field of a change that moves an application to another address; null if it stays where it was. */
export const movedField = (
  before: Pick<store.ApplicationRow, 'url' | 'fallback_url'>,
  after: { readonly url?: string | undefined; readonly fallback_url?: string | null | undefined },
): 'url' | 'fallback_url' | null => {
  if (after.url !== undefined && after.url !== before.url) return 'url'
  return after.fallback_url && after.fallback_url !== before.fallback_url ? 'fallback_url' : null
}

/** Deletes an application. Returns null if it does not exist. @throws the 409 Problem if a number runs it */
export const removeApplication = async (tx: Tx, account: string, id: string): Promise<store.ApplicationRow | null> => {
  const row = await store.lock(tx, account, id)
  if (!row) return null
  const number = await store.numberRunning(tx, account, id)
  if (number !== null) throw refusals.inUse(number)
  await store.remove(tx, account, id)
  return row
}

export const findApplication = store.find

export const pageOfApplications = store.page

export const listApplications = (sql: Sql, account: string) => store.list(sql, account, maxApplications)

/** Keeps an application from being deleted until the end of the transaction. @throws the 404 Problem */
export const requireApplication = async (tx: Tx, account: string, id: string) =>
  (await store.keep(tx, account, id)) ?? refuse(refusals.unknownApplication(print('APP', id)))
