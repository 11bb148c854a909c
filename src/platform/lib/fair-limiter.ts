/** Bounds concurrent work: a share for each key (an account, a receiver, an address), and a total. */
export type FairLimiter = {
  /** Admits work of this weight if capacity is free now. Never overtakes a waiter that only the total holds back. */
  tryAcquire(key: string, weight?: number): boolean
  /**
   * Admits work in turn. Each successful acquire needs one release; an aborted or refused one does not.
   * @returns null if admitted at once, else a promise, which rejects with the error of `full` or the abort reason
   */
  acquire(
    key: string,
    options?: { readonly signal?: AbortSignal | undefined; readonly weight?: number },
  ): Promise<void> | null
  release(key: string, weight?: number): void
  /** Acquires, works, and releases. */
  run<T>(key: string, work: () => T | Promise<T>, signal?: AbortSignal): Promise<T>
  /** Returns the weight under way, of one key or in all. */
  used(key?: string): number
  /** Returns the number of waiters, of one key or in all. */
  waiting(key?: string): number
}

export type FairLimits = {
  /** Maximum weight under way per key. */
  readonly perKey: number
  /** Maximum weight under way in all. */
  readonly total: number
  /** Maximum number of waiters per key and in all. Default: no limit; the caller bounds them. */
  readonly queue?: { readonly perKey: number; readonly total: number }
  /** Returns the error of a waiter that exceeds the queue. */
  readonly full?: () => Error
}

/** Default error of a full queue. */
export class QueueFull extends Error {}

type Waiter = { readonly weight: number; readonly go: () => void }

const unbounded = { perKey: Number.POSITIVE_INFINITY, total: Number.POSITIVE_INFINITY }

/**
 * Admits waiters of one key in order, and keys in turn. A key never gets more than its share, even when alone: with a
 * share below the total, the first request of another key is admitted at once.
 */
export const makeFairLimiter = ({
  perKey,
  total,
  queue = unbounded,
  full = () => new QueueFull('the queue is full'),
}: FairLimits): FairLimiter => {
  const inside = new Map<string, number>()
  const queues = new Map<string, Waiter[]>()
  let all = 0
  let waiters = 0

  // Weight beyond a whole share is admitted alone, or it would never be admitted.
  const fitsShare = (key: string, weight: number) => {
    const own = inside.get(key) ?? 0
    return own === 0 || own + weight <= perKey
  }
  const fitsTotal = (weight: number) => all === 0 || all + weight <= total

  /** True while only the total holds back a waiter: later requests must not overtake it. */
  const isContended = () => {
    for (const [key, [head]] of queues) if (head && fitsShare(key, head.weight)) return true
    return false
  }

  const admit = (key: string, weight: number) => {
    all += weight
    inside.set(key, (inside.get(key) ?? 0) + weight)
  }

  const tryAcquire = (key: string, weight = 1): boolean => {
    if (!fitsTotal(weight) || !fitsShare(key, weight)) return false
    if (waiters > 0 && (queues.has(key) || isContended())) return false
    admit(key, weight)
    return true
  }

  /** Admits the next waiter. @returns false if none fits */
  const admitNext = (): boolean => {
    for (const [key, own] of queues) {
      const [head] = own
      if (!head || !fitsShare(key, head.weight)) continue
      // Lighter waiters do not overtake a heavy one, so that capacity accumulates for it.
      if (!fitsTotal(head.weight)) return false
      own.shift()
      waiters--
      queues.delete(key)
      if (own.length > 0) queues.set(key, own)
      admit(key, head.weight)
      head.go()
      return true
    }
    return false
  }

  const admitWaiters = () => {
    while (waiters > 0 && admitNext());
  }

  const enqueue = (key: string, weight: number, signal: AbortSignal | undefined): Promise<void> => {
    if (signal?.aborted) return Promise.reject(signal.reason)
    if (waiters >= queue.total || (queues.get(key)?.length ?? 0) >= queue.perKey) return Promise.reject(full())
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const leave = () => {
      const others = (queues.get(key) ?? []).filter((one) => one !== waiter)
      waiters--
      if (others.length > 0) queues.set(key, others)
      else queues.delete(key)
      reject(signal?.reason)
      // A heavy waiter may have held back lighter ones.
      admitWaiters()
    }
    const waiter: Waiter = {
      weight,
      go: () => {
        signal?.removeEventListener('abort', leave)
        resolve()
      },
    }
    signal?.addEventListener('abort', leave, { once: true })
    const own = queues.get(key)
    if (own) own.push(waiter)
    else queues.set(key, [waiter])
    waiters++
    return promise
  }

  const acquire: FairLimiter['acquire'] = (key, { signal, weight = 1 } = {}) =>
    tryAcquire(key, weight) ? null : enqueue(key, weight, signal)

  const release = (key: string, weight = 1) => {
    all -= weight
    const left = (inside.get(key) ?? weight) - weight
    if (left === 0) inside.delete(key)
    else inside.set(key, left)
    admitWaiters()
  }

  return {
    tryAcquire,
    acquire,
    release,
    run: async (key, work, signal) => {
      await acquire(key, { signal })
      try {
        return await work()
      } finally {
        release(key)
      }
    },
    used: (key) => (key === undefined ? all : (inside.get(key) ?? 0)),
    waiting: (key) => (key === undefined ? waiters : (queues.get(key)?.length ?? 0)),
  }
}
