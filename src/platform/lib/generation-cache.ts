/**
 * Cache of database rows that an invalidation clears as a whole. A row read before an invalidation is not cached after
 * it, so that no process serves a revoked key or a deleted channel from the cache.
 */
export type GenerationCache<V> = {
  /** Returns the cached value, or undefined. */
  get(key: string): V | undefined
  /** Loads a value and caches it, unless it is null or the cache was cleared meanwhile. */
  load<T extends V | null>(key: string, work: () => Promise<T>): Promise<T>
  clear(): void
}

/** @param maxEntries the oldest tenth is evicted beyond it */
export const makeGenerationCache = <V>(maxEntries: number): GenerationCache<V> => {
  const entries = new Map<string, V>()
  let generation = 0

  const set = (key: string, value: V) => {
    // Maps iterate in insertion order.
    if (entries.size >= maxEntries)
      for (const oldest of entries.keys().take(Math.ceil(maxEntries / 10))) entries.delete(oldest)
    entries.set(key, value)
  }

  return {
    get: (key) => entries.get(key),
    load: async (key, work) => {
      const before = generation
      const found = await work()
      const value: V | null = found
      if (value !== null && before === generation) set(key, value)
      return found
    },
    clear: () => {
      generation++
      entries.clear()
    },
  }
}
