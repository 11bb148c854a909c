import { formsOf, plain } from './matching.ts'

/**
 * Parts that a carrier took and that the database does not know yet. They count against the carrier's window: what would
 * be submitted again after a kill, because nobody knew that it was taken, is never more than one window.
 */
export type Unwritten = {
  add(connection: string, message: string, part: number, carrierId: string): void
  /** The messages' parts are written down, or one of them is. */
  clear(messages: readonly string[], part?: number): void
  /** Resolves once the part of that id is written down, or after a second; null for one that is not unwritten. */
  written(connection: string, carrierId: string): Promise<void> | null
  /** How many of a connection there are. */
  count(connection: string): number
}

/** What was not written down by then was lost with its lease: another process has the message. */
const longestMs = 60_000

/** Longest wait for a part to be written down: the carrier waits as well. */
const patience = 1_000

type Taken = {
  connection: string
  message: string
  part: number
  at: number
  carrierKey: string
  waiting: (() => void)[]
}

/** @param cleared called when there is room again */
export const makeUnwritten = (cleared: () => void, now: () => number = () => performance.now()): Unwritten => {
  const taken = new Map<string, Taken>()
  const byCarrier = new Map<string, Taken>()
  const counts = new Map<string, number>()

  const forget = (key: string, one: Taken) => {
    const { connection, carrierKey, waiting } = one
    taken.delete(key)
    if (byCarrier.get(carrierKey) === one) byCarrier.delete(carrierKey)
    for (const go of waiting) go()
    counts.set(connection, (counts.get(connection) ?? 1) - 1)
  }

  const forgetOld = () => {
    for (const [key, one] of taken) {
      if (now() - one.at < longestMs) return
      forget(key, one)
    }
  }

  return {
    add: (connection, message, part, carrierId) => {
      const key = `${message} ${part}`
      const known = taken.get(key)
      if (known) forget(key, known)
      const carrierKey = `${connection} ${plain(carrierId)}`
      const one = { connection, message, part, at: now(), carrierKey, waiting: [] }
      taken.set(key, one)
      byCarrier.set(carrierKey, one)
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
    written: (connection, carrierId) => {
      if (taken.size === 0) return null
      for (const { key } of formsOf(carrierId)) {
        const one = byCarrier.get(`${connection} ${key}`)
        if (!one) continue
        return new Promise((resolve) => {
          const timer = setTimeout(resolve, patience)
          one.waiting.push(() => {
            clearTimeout(timer)
            resolve()
          })
        })
      }
      return null
    },
    count: (connection) => {
      forgetOld()
      return counts.get(connection) ?? 0
    },
  }
}
