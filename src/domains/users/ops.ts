import type { Sql, Tx } from '../../platform/db/sql.ts'
import { refuse } from '../../platform/http/problem.ts'
import type { Role } from '../../platform/http/role.ts'
import { fullName, splitName } from '../../platform/lib/full-name.ts'
import { parse, print, uuid } from '../../platform/lib/id.ts'
import { record } from '../events/ops.ts'
import { refusals } from './refusals.ts'
import * as store from './store.ts'

/** Adds a user to an account; null if the account does not exist. */
export const addUser = (tx: Tx, account: string, user: Parameters<typeof store.create>[3]) =>
  store.create(tx, account, uuid(), user)

/** Adds a user who is to accept an invitation. @returns the id @throws Problem 409 for an address of another user */
export const addMember = async (
  tx: Tx,
  account: string,
  { first_name, last_name, email }: { first_name: string; last_name: string; email: string },
): Promise<string> => {
  if (await store.isEmailTaken(tx, account, email, null)) throw refusals.emailExists(email)
  const id = uuid()
  await store.create(tx, account, id, { first_name, last_name, email, status: 'PENDING_INVITE' })
  return id
}

const noName = { first_name: '', last_name: '' }

/** Makes a person an owner of an account: as its user with the same e-mail address, or as a new user. */
export const makeOwner = async (
  tx: Tx,
  account: string,
  { id, email, name }: { id: string; email: string; name: string },
): Promise<void> => {
  const known = await store.findByEmail(tx, account, email)
  const user = known?.id ?? uuid()
  const names = splitName(name, known ?? noName)
  if (known) await store.setNames(tx, account, user, names)
  else await store.create(tx, account, user, { ...names, email, status: 'ACTIVE' })
  await store.makeOwner(tx, account, user, id)
}

/** Locks the users of a person, before the person: changes of users lock both in this order. */
export const lockUsersOf = store.lockOfPerson

/** Gives the users of a person a name, in all accounts. */
export const nameUsersOf = async (tx: Tx, person: string, name: string): Promise<void> => {
  for (const user of await store.lockOfPerson(tx, person)) {
    if (fullName(user) === name) continue
    const names = splitName(name, user)
    await store.setNames(tx, user.account_id, user.id, names)
    await publishMember(tx, 'member.changed', user.account_id, { ...user, ...names })
  }
}

/** Gives a user the name of the person who joined the account as this user. @returns the user with it */
export const nameJoined = async <U extends Pick<store.UserRow, 'id' | 'first_name' | 'last_name'>>(
  tx: Tx,
  account: string,
  user: U,
  name: string,
): Promise<U> => {
  const names = splitName(name, user)
  await store.setNames(tx, account, user.id, names)
  return { ...user, ...names }
}

/** Gives the person of a user the name that an account gave the user. */
export const namePersonOf = store.namePerson

/** Fields of a member in events. There is no e-mail address: its right is `people`. */
type EventMember = Pick<store.UserRow, 'id' | 'first_name' | 'last_name' | 'status'> & { readonly role: Role }

const eventPayload = ({ id, first_name, last_name, role, status }: EventMember) => ({
  uuid: print('USR', id),
  first_name,
  last_name,
  role,
  status,
})

/** Records that a member joined or changed. */
export const publishMember = (
  tx: Tx,
  name: 'member.joined' | 'member.changed',
  account: string,
  member: EventMember,
): Promise<void> =>
  record(tx, [{ account, name, channel: null, conversation: member.id, payload: eventPayload(member) }])

/** Returns the newest member of an account as events tell of one; null if there is none. */
export const newestMember = async (sql: Sql, account: string): Promise<object | null> => {
  const row = await store.newest(sql, account)
  return row && eventPayload(row)
}

/** Whether the account has such a user, and the user is active. */
export const isActive = store.isActive

/** Returns the account of a user, and whether the user may make calls, and is called; null if unknown. For callers that
 *  know only the user. */
export const callPermissionOf = store.callPermission

/** Returns those of the users who may no longer call. */
export const findBarred = store.findBarred

/** Returns a user of an account, of any status; null if there is none. */
export const userOf = store.findInAccount

/** Returns the id of the active user with an e-mail address or a printed id; null if there is none. */
export const userByIdentity = store.findByIdentity

/** Returns the bare id of a user that a filter names, of any status. @throws Problem 404 for a user of no such account */
export const requireUser = async (sql: Sql, account: string, printed: string): Promise<string> => {
  const id = parse('USR', printed)
  const user = id === null ? null : await userOf(sql, account, id)
  return id === null || user === null ? refuse(refusals.unknownUser(printed)) : id
}
