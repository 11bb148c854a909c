/** A lock of a table, as pg_locks names it. */
export type TableLock = { readonly table: string; readonly mode: string }

/** Locks of tables from the weakest to the strongest, with what waits meanwhile (PostgreSQL, 13.3.1). */
const modes: readonly (readonly [mode: string, effect: string])[] = [
  ['AccessShareLock', 'nothing waits'],
  ['RowShareLock', 'nothing waits'],
  ['RowExclusiveLock', 'writes to the same rows wait'],
  ['ShareUpdateExclusiveLock', 'vacuum and other changes of the schema wait'],
  ['ShareLock', 'writes wait'],
  ['ShareRowExclusiveLock', 'writes wait'],
  ['ExclusiveLock', 'writes wait'],
  ['AccessExclusiveLock', 'reads and writes wait'],
]

const strength = (mode: string): number => modes.findIndex(([known]) => known === mode)

/** What waits for a lock of this mode. */
export const effectOf = (mode: string): string => modes[strength(mode)]?.[1] ?? 'unknown'

/** The strongest lock of each table, without those for which nothing waits. */
export const strongest = (locks: Iterable<TableLock>): TableLock[] => {
  const found = new Map<string, string>()
  for (const { table, mode } of locks)
    if (strength(mode) > strength(found.get(table) ?? 'RowShareLock')) found.set(table, mode)
  return [...found]
    .map(([table, mode]) => ({ table, mode }))
    .sort((a, b) => strength(b.mode) - strength(a.mode) || (a.table < b.table ? -1 : 1))
}
