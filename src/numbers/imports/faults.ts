export type Fault = { readonly line: number; readonly error: string }

/** How many bad lines are told of; the rest are counted. */
export const most = 1000

/** The bad lines of a file: all are counted, the first are kept. */
export type Faults = {
  /** @param count where not all of them are at hand */
  add(found: readonly Fault[], count?: number): void
  readonly count: number
  readonly kept: readonly Fault[]
  readonly isFull: boolean
}

export const makeFaults = (): Faults => {
  const kept: Fault[] = []
  let count = 0
  return {
    add: (found, all = found.length) => {
      count += all
      const room = Math.max(0, most - kept.length)
      kept.push(...found.slice(0, room))
      kept.sort((a, b) => a.line - b.line)
    },
    get count() {
      return count
    },
    kept,
    get isFull() {
      return kept.length >= most
    },
  }
}
