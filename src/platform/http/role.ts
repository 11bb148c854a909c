import { type Capability, capabilities, maskOf } from './capability.ts'

/** Roles of a person within an account. */
export const roles = ['owner', 'admin', 'agent', 'developer', 'billing'] as const

export type Role = (typeof roles)[number]

/** Capabilities of each role (docs/security.md). Null: all, including those of later versions. */
export const roleCapabilities: { readonly [role in Role]: readonly Capability[] | null } = {
  owner: null,
  admin: ['inbox', 'inbox.all', 'team_settings', 'numbers', 'read_only', 'develop', 'money', 'people'],
  agent: ['inbox', 'inbox.all'],
  developer: ['read_only', 'develop'],
  billing: ['read_only', 'money'],
}

const masks = new Map(roles.map((role) => [role, maskOf(roleCapabilities[role])]))

/** Returns the mask of a role's capabilities. */
export const maskOfRole = (role: Role): number => masks.get(role) ?? 0

/** Returns the names of capabilities. @param scopes null: all */
export const namesOf = (scopes: readonly Capability[] | null): Capability[] => [...(scopes ?? capabilities)]
