/** The turn of a password check. */
export type Turn = {
  /** Lower ranks go first. 0: known; 1: without failures; more: with failures. */
  readonly rank: number
  /** One check at a time runs for each key, such as an address. */
  readonly keys: readonly string[]
  /** True once the client is gone, so that the check is of no use. */
  isGone(): boolean
}

type Waiter = { readonly turn: Turn; readonly go: () => void; readonly refuse: () => void }

/**
 * Admits few password checks at a time, the lowest rank first. Addresses with failures leave one place to the others.
 *
 * Within a rank the newest and the oldest take turns. A flood that fills the queue thus delays a client that arrives later
 * rarely, and none for ever. A full queue refuses the last in line.
 * @param full returns the error of a refused one
 */
export const makeHashQueue = ({
  running,
  waiting,
  full,
}: {
  readonly running: number
  readonly waiting: number
  readonly full: () => Error
}) => {
  const inside = new Set<string>()
  /** In the order of their arrival. */
  let waiters: Waiter[] = []
  let active = 0

  let isOldestNext = false
  let isOthersNext = false

  const fits = ({ rank, keys }: Turn) =>
    active < (rank > 1 ? running - 1 : running) && keys.every((key) => !inside.has(key))

  const enter = ({ keys }: Turn) => {
    active++
    for (const key of keys) inside.add(key)
  }

  const first = (): Waiter | undefined => {
    const fitting = waiters.filter(({ turn }) => fits(turn))
    const others = fitting.filter(({ turn }) => turn.rank > 0)
    const hasBoth = others.length > 0 && others.length < fitting.length
    const able = hasBoth && isOthersNext ? others : fitting
    if (hasBoth) isOthersNext = !isOthersNext
    const best = Math.min(...able.map(({ turn }) => turn.rank))
    const equals = able.filter(({ turn }) => turn.rank === best)
    const chosen = equals.at(isOldestNext ? 0 : -1)
    if (equals.length > 1) isOldestNext = !isOldestNext
    return chosen
  }

  const last = (): Waiter | undefined =>
    waiters.reduce<Waiter | undefined>(
      (worst, one) => (worst && worst.turn.rank >= one.turn.rank ? worst : one),
      undefined,
    )

  const drop = (one: Waiter) => {
    waiters = waiters.filter((other) => other !== one)
  }

  const leave = ({ keys }: Turn) => {
    active--
    for (const key of keys) inside.delete(key)
    for (const one of waiters.filter(({ turn }) => turn.isGone())) {
      drop(one)
      one.refuse()
    }
    for (let next = first(); next; next = first()) {
      drop(next)
      enter(next.turn)
      next.go()
    }
  }

  const wait = (turn: Turn): Promise<void> => {
    const worst = waiters.length < waiting ? undefined : last()
    if (worst && worst.turn.rank < turn.rank) return Promise.reject(full())
    if (worst) {
      drop(worst)
      worst.refuse()
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    waiters.push({ turn, go: resolve, refuse: () => reject(full()) })
    return promise
  }

  return {
    run: async <T>(turn: Turn, work: () => Promise<T>): Promise<T> => {
      if (fits(turn)) enter(turn)
      else await wait(turn)
      try {
        return await work()
      } finally {
        leave(turn)
      }
    },
  }
}
