// Stands in for node:timers/promises in the modules of simulated processes (modules.ts).

/** @throws AbortError when the signal aborts */
export const setTimeout = <T>(
  milliseconds?: number,
  value?: T,
  { signal }: { signal?: AbortSignal } = {},
): Promise<T | undefined> =>
  new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer)
      reject(Object.assign(new Error('The operation was aborted'), { name: 'AbortError', code: 'ABORT_ERR' }))
    }
    const timer = globalThis.setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve(value)
    }, milliseconds)
    if (signal?.aborted) abort()
    else signal?.addEventListener('abort', abort, { once: true })
  })

export const setImmediate = <T>(value?: T): Promise<T | undefined> =>
  new Promise((resolve) => globalThis.setImmediate(() => resolve(value)))
