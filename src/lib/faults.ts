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

/** What stands in the file may be anything: shown without control characters, and not at any length. */
const shown = (text: string): string =>
  text
    .slice(0, 500)
    .replace(/\p{Cc}/gu, ' ')
    .toWellFormed()

export const makeFaults = (): Faults => {
  const kept: Fault[] = []
  let count = 0
  return {
    add: (found, all = found.length) => {
      count += all
      const room = Math.max(0, most - kept.length)
      kept.push(...found.slice(0, room).map(({ line, error }) => ({ line, error: shown(error) })))
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
