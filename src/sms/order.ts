/** Keeps texts between one pair of numbers in the order in which they were accepted, within this process. */
export type Order = {
  /**
   * Waits for the texts of the pair that entered before.
   * @param id of the text; ids ascend in the order of acceptance
   */
  enter(pair: string, id: string): Promise<Place>
}

/** `wait` is 0 for a text whose turn it is; else one before it was put back into the queue, and this one has been put back
 *  too, for so many seconds. */
export type Place = {
  readonly wait: number
  /** It was carried, or has failed: those behind it may go. */
  done(): void
  /** It goes back into the queue for so many seconds: those behind it must not overtake it. */
  back(seconds: number): void
}

type Pair = {
  /** Resolves when the last one that entered has left. */
  tail: Promise<void>
  inside: number
  /** Texts that were put back, each with the time (monotonic, ms) at which it is due again. */
  readonly putBack: Map<string, number>
}

/** Pairs of which texts were put back; beyond, the oldest are forgotten and may be overtaken. */
const most = 50_000

/** Of a text that is not here so long after it was due one asks whether it is still to come: another process may have carried
 *  it, or somebody canceled it. */
const lostMs = 30_000

/** What is put back behind another one is due just after it, but looks again this soon: the platform's clock, by which
 *  both are due, may be moved. */
const behindMs = 20
const mostMs = 1_000

/** And so much later for each one before it, so that a long row comes back in its order, and not all at once. */
const apartMs = 2
const rowMs = 10_000

/** @param isToCome whether a text is still in the queue */
export const makeOrder = (
  isToCome: (id: string) => Promise<boolean>,
  now: () => number = () => performance.now(),
): Order => {
  const pairs = new Map<string, Pair>()

  const pairOf = (name: string): Pair => {
    const known = pairs.get(name)
    if (known) return known
    if (pairs.size >= most) for (const [other, { inside }] of pairs) if (inside === 0) pairs.delete(other)
    const made = { tail: Promise.resolve(), inside: 0, putBack: new Map<string, number>() }
    pairs.set(name, made)
    return made
  }

  /** The oldest that was put back and is still to come. */
  const firstOf = async ({ putBack }: Pair): Promise<[string, number] | null> => {
    while (putBack.size > 0) {
      let first: string | null = null
      for (const id of putBack.keys()) if (first === null || id < first) first = id
      const due = putBack.get(first ?? '')
      if (first === null || due === undefined) return null
      if (now() < due + lostMs) return [first, due]
      if (await isToCome(first)) putBack.set(first, now())
      else putBack.delete(first)
    }
    return null
  }

  /** Milliseconds until it is the turn of a text behind the first. */
  const waitOf = ({ putBack }: Pair, [, due]: [string, number], id: string): number => {
    let before = 0
    for (const other of putBack.keys()) if (other < id) before++
    return Math.max(0, Math.min(mostMs, due - now())) + behindMs + Math.min(rowMs, before * apartMs)
  }

  return {
    enter: async (name, id) => {
      const pair = pairOf(name)
      const left = Promise.withResolvers<void>()
      const before = pair.tail
      pair.tail = left.promise
      pair.inside++
      // Most texts are alone between their pair.
      if (pair.inside > 1) await before

      const leave = () => {
        pair.inside--
        if (pair.inside === 0 && pair.putBack.size === 0) pairs.delete(name)
        left.resolve()
      }
      const back = (seconds: number) => {
        pair.putBack.set(id, now() + seconds * 1_000)
        leave()
      }
      const done = () => {
        pair.putBack.delete(id)
        leave()
      }
      const first = await firstOf(pair)
      if (first === null || first[0] >= id) return { wait: 0, done, back }
      const wait = waitOf(pair, first, id) / 1_000
      back(wait)
      return { wait, done, back }
    },
  }
}
