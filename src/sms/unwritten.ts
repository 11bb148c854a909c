/**
 * Parts that a carrier took and that the database does not know yet. They count against the carrier's window: what would
 * be submitted again after a kill, because nobody knew that it was taken, is never more than one window.
 */
export type Unwritten = {
  add(connection: string, message: string, part: number): void
  /** The messages' parts are written down, or one of them is. */
  clear(messages: readonly string[], part?: number): void
  /** How many of a connection there are. */
  count(connection: string): number
}

/** What was not written down by then was lost with its lease: another process has the message. */
const longestMs = 60_000

type Taken = { connection: string; message: string; part: number; at: number }

/** @param cleared called when there is room again */
export const makeUnwritten = (cleared: () => void, now: () => number = () => performance.now()): Unwritten => {
  const taken = new Map<string, Taken>()
  const counts = new Map<string, number>()

  const forget = (key: string, { connection }: Taken) => {
    taken.delete(key)
    counts.set(connection, (counts.get(connection) ?? 1) - 1)
  }

  const forgetOld = () => {
    for (const [key, one] of taken) {
      if (now() - one.at < longestMs) return
      forget(key, one)
    }
  }

  return {
    add: (connection, message, part) => {
      const key = `${message} ${part}`
      const known = taken.get(key)
      if (known) forget(key, known)
      taken.set(key, { connection, message, part, at: now() })
      counts.set(connection, (counts.get(connection) ?? 0) + 1)
    },
    clear: (messages, part) => {
      if (taken.size === 0) return
      const ended = new Set(messages)
      const before = taken.size
      for (const [key, one] of taken)
        if (ended.has(one.message) && (part === undefined || part === one.part)) forget(key, one)
      if (taken.size < before) cleared()
    },
    count: (connection) => {
      forgetOld()
      return counts.get(connection) ?? 0
    },
  }
}
