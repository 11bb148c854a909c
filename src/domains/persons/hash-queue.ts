/** The turn of a password check. */
export type Turn = {
  /** Lower ranks go first. */
  readonly rank: number
  /** Of each key, such as an address, one check runs at a time. */
  readonly keys: readonly string[]
}

type Waiter = { readonly turn: Turn; readonly go: () => void; readonly refuse: () => void }

/**
 * Admits few password checks at a time, the lowest rank first, and within a rank the newest. In a flood the oldest could
 * not be served in time either, and a client that arrives later is served at once. A full queue refuses the last in line.
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

  const fits = ({ keys }: Turn) => active < running && keys.every((key) => !inside.has(key))

  const enter = ({ keys }: Turn) => {
    active++
    for (const key of keys) inside.add(key)
  }

  const first = (): Waiter | undefined =>
    waiters
      .filter(({ turn }) => fits(turn))
      .reduce<Waiter | undefined>((best, one) => (best && best.turn.rank < one.turn.rank ? best : one), undefined)

  const last = (): Waiter | undefined =>
    waiters.reduce<Waiter | undefined>(
      (worst, one) => (worst && worst.turn.rank >= one.turn.rank ? worst : one),
      undefined,
    )

  const leave = ({ keys }: Turn) => {
    active--
    for (const key of keys) inside.delete(key)
    for (let next = first(); next; next = first()) {
      const chosen = next
      waiters = waiters.filter((one) => one !== chosen)
      enter(chosen.turn)
      chosen.go()
    }
  }

  const wait = (turn: Turn): Promise<void> => {
    const worst = waiters.length < waiting ? undefined : last()
    if (worst && worst.turn.rank < turn.rank) return Promise.reject(full())
    if (worst) {
      waiters = waiters.filter((one) => one !== worst)
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
