/** Applies the result of a read that is repeated after each change, and never an older result after a newer one. */
export type NewestRead = {
  /** Reads and applies the result, unless a newer read began meanwhile. Rejects if the read fails. */
  reload(): Promise<void>
  /** Discards a read that is under way: the caller applied a change that the read may not include. */
  discard(): void
}

export const makeNewestRead = <T>(read: () => Promise<T>, apply: (found: T) => void): NewestRead => {
  let newest = 0
  return {
    reload: async () => {
      const own = ++newest
      const found = await read()
      if (own === newest) apply(found)
    },
    discard: () => {
      newest++
    },
  }
}
