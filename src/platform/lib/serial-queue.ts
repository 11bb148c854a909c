/** Runs work sequentially in the order of the calls, also after a failure. Resolves or rejects as the work does. */
export type SerialQueue = <T>(work: () => Promise<T> | T) => Promise<T>

/** Runs work of one key sequentially in the order of the calls; different keys run concurrently. */
export type KeyedQueue = <T>(key: string, work: () => Promise<T> | T) => Promise<T>

export const makeSerialQueue = (): SerialQueue => {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const done = last.then(work)
    // A failure is the caller's to handle; the next work runs all the same.
    last = done.catch(() => {})
    return done
  }
}

export const makeKeyedQueue = (): KeyedQueue => {
  const last = new Map<string, Promise<unknown>>()
  return async (key, work) => {
    const done = (last.get(key) ?? Promise.resolve()).then(work, work)
    last.set(key, done)
    try {
      return await done
    } finally {
      if (last.get(key) === done) last.delete(key)
    }
  }
}
