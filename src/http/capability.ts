/** What a key or a role may do (docs/operating.md, Keys). New ones are appended: the order is that of the bits. */
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

/** The bit of a capability in a mask; 0 for a name that this version does not know. */
export const bitOf = (name: string): number => bits.get(name) ?? 0

/** The mask of a list of capabilities. @param names null: all, also those of later versions */
export const maskOf = (names: readonly string[] | null): number =>
  names === null ? -1 : names.reduce((mask, name) => mask | bitOf(name), 0)
