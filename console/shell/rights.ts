import type { Capability } from '../api/session-types.ts'
import type { words } from '../words/en/shell.ts'

export type Role = keyof typeof words.roles

/** Roles that have a right, from the most common one up. `test/console/people.test.ts` holds them against the server's. */
export const rolesWith: Readonly<Record<Capability, readonly Role[]>> = {
  inbox: ['agent', 'admin', 'owner'],
  'inbox.all': ['agent', 'admin', 'owner'],
  team_settings: ['admin', 'owner'],
  numbers: ['admin', 'owner'],
  read_only: ['developer', 'billing', 'admin', 'owner'],
  develop: ['developer', 'admin', 'owner'],
  money: ['billing', 'admin', 'owner'],
  people: ['admin', 'owner'],
  account: ['owner'],
}

/** Every right, in the order of the tables. */
export const rights = Object.keys(rolesWith) as Capability[]

/** Returns the rights of a role. */
export const rightsOf = (role: Role): Capability[] => rights.filter((right) => rolesWith[right].includes(role))
