// Background work of one process comes together, so that an idle process sleeps in between, and one after the other, so
// that it needs one connection of the database.

/**
 * Returns the milliseconds until a multiple of an interval, between half and one and a half of it: timers of one process
 * end together and wake it once. Short intervals stay as they are.
 */
export const alignedDelay = (milliseconds: number): number => {
  if (milliseconds < 500) return milliseconds
  const left = milliseconds - (Date.now() % milliseconds)
  return left < milliseconds / 2 ? left + milliseconds : left
}

/** Milliseconds after which work that is still running no longer holds up the next. */
const longestTurnMs = 100

let turn: { readonly over: Promise<void>; readonly until: number; isOver: boolean } | null = null

/**
 * Runs background work after that which was due before it. Work that is due together would otherwise open a connection
 * each: measured, nine instead of one, and two thirds of the processor time of an idle installation.
 */
export const inTurn = async <T>(work: () => Promise<T>): Promise<T> => {
  while (turn && !turn.isOver && performance.now() < turn.until) await turn.over
  const { promise: over, resolve } = Promise.withResolvers<void>()
  const own = { over, until: performance.now() + 2 * longestTurnMs, isOver: false }
  const end = () => {
    own.isOver = true
    resolve()
  }
  const timer = setTimeout(end, longestTurnMs).unref()
  turn = own
  try {
    return await work()
  } finally {
    clearTimeout(timer)
    end()
  }
}
