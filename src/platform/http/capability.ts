/** Permissions of keys and roles (docs/operating/keys.md). Append new ones: the order defines the bits. */
export const capabilities = [
  'inbox',
  'inbox.all',
  'team_settings',
  'numbers',
  'read_only',
  'develop',
  'money',
  'people',
  'account',
] as const

export type Capability = (typeof capabilities)[number]

const bits = new Map<string, number>(capabilities.map((name, i) => [name, 1 << i]))

/** Returns the bit of a capability in a mask; 0 for an unknown name. */
export const bitOf = (name: string): number => bits.get(name) ?? 0

/** Returns the mask of a list of capabilities. @param names null: all, including those of later versions */
export const maskOf = (names: readonly string[] | null): number =>
  names === null ? -1 : names.reduce((mask, name) => mask | bitOf(name), 0)

/** True if the key has one of these capabilities. */
export const hasOneOf = (key: { readonly scopes: number }, ...names: readonly Capability[]): boolean =>
  (key.scopes & maskOf(names)) !== 0
