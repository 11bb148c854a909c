import {
  lostMessageMs,
  maxDeferredPairs,
  maxPairDelayMs,
  maxPairSpacingMs,
  pairDelayMs,
  pairSpacingMs,
} from '../limits.ts'

/** Keeps messages between one pair of numbers in order of acceptance, within this process. */
export type PairSequencer = {
  /** Other processes may have ended deferred messages: each is looked up before it makes others wait. */
  recheck(): void
  /** A message of the pair is in the queue: the next ones must not overtake it. */
  expect(pair: string, id: string, seconds: number): void
  /**
   * Waits for the messages of the pair that entered before.
   * @param id of the message; ids ascend in order of acceptance
   */
  enter(pair: string, id: string): Promise<PairTurn>
}

/** The turn of a message. `waitSeconds` is 0 if the message may be submitted now. Otherwise an earlier message was
 *  deferred, and this one has been deferred for that time, too. */
export type PairTurn = {
  readonly waitSeconds: number
  /** The message was submitted or has failed: the next ones may proceed. */
  complete(): void
  /** The message returns to the queue for a time; the next ones must not overtake it. */
  defer(seconds: number): void
}

type Pair = {
  /** Resolves when the last message that entered has left. */
  tail: Promise<void>
  inside: number
  /** Deferred messages with their due times (monotonic, ms). */
  readonly deferred: Map<string, number>
}

/** @param isQueued whether a message is still in the queue */
export const makePairSequencer = (
  isQueued: (id: string) => Promise<boolean>,
  now: () => number = () => performance.now(),
): PairSequencer => {
  const pairs = new Map<string, Pair>()

  const pairOf = (name: string): Pair => {
    const known = pairs.get(name)
    if (known) return known
    if (pairs.size >= maxDeferredPairs) for (const [other, { inside }] of pairs) if (inside === 0) pairs.delete(other)
    const made: Pair = { tail: Promise.resolve(), inside: 0, deferred: new Map<string, number>() }
    pairs.set(name, made)
    return made
  }

  /** Returns the oldest deferred message that is still in the queue, with its due time. */
  const firstOf = async ({ deferred }: Pair): Promise<[string, number] | null> => {
    while (deferred.size > 0) {
      let first: string | null = null
      for (const id of deferred.keys()) if (first === null || id < first) first = id
      const due = deferred.get(first ?? '')
      if (first === null || due === undefined) return null
      if (now() < due + lostMessageMs) return [first, due]
      if (await isQueued(first)) deferred.set(first, now())
      else deferred.delete(first)
    }
    return null
  }

  /** Milliseconds until the turn of a message behind the first. */
  const waitOf = ({ deferred }: Pair, [, due]: [string, number], id: string): number => {
    let before = 0
    for (const other of deferred.keys()) if (other < id) before++
    return (
      Math.max(0, Math.min(maxPairDelayMs, due - now())) +
      pairDelayMs +
      Math.min(maxPairSpacingMs, before * pairSpacingMs)
    )
  }

  return {
    recheck: () => {
      for (const { deferred } of pairs.values())
        for (const id of deferred.keys()) deferred.set(id, Number.NEGATIVE_INFINITY)
    },
    expect: (name, id, seconds) => void pairOf(name).deferred.set(id, now() + seconds * 1_000),
    enter: async (name, id) => {
      const pair = pairOf(name)
      const left = Promise.withResolvers<void>()
      const before = pair.tail
      pair.tail = left.promise
      pair.inside++
      // Most messages are alone in their pair.
      if (pair.inside > 1) await before

      const leave = () => {
        pair.inside--
        if (pair.inside === 0 && pair.deferred.size === 0) pairs.delete(name)
        left.resolve()
      }
      const back = (seconds: number) => {
        pair.deferred.set(id, now() + seconds * 1_000)
        leave()
      }
      const done = () => {
        pair.deferred.delete(id)
        leave()
      }
      const first = await firstOf(pair)
      if (first === null || first[0] >= id) return { waitSeconds: 0, complete: done, defer: back }
      const wait = waitOf(pair, first, id) / 1_000
      back(wait)
      return { waitSeconds: wait, complete: done, defer: back }
    },
  }
}
