import { maxCommitWaitMs, maxPendingCommitMs } from '../limits.ts'
import type { TokenPart } from '../part-tokens.ts'
import { idForms, normalizeId } from '../receipts/receipt-correlation.ts'

/**
 * Parts that a carrier accepted and the database has not committed yet. They count against the carrier's window. After
 * a kill, at most one window of parts is therefore submitted again.
 */
export type PendingCommits = {
  add(connection: string, message: string, part: number, carrierId: string): void
  /** Removes the committed parts of messages, or one part of each. */
  clear(messages: readonly string[], part?: number): void
  /** Resolves once the part with that id is committed, or after a second; null if it is not pending.
   *  @param ours the part itself, if it is known */
  whenCommitted(connection: string, carrierId: string, ours?: TokenPart): Promise<void> | null
  /** Number of pending parts of a connection. */
  count(connection: string): number
}

type PendingPart = {
  connection: string
  message: string
  part: number
  at: number
  carrierKey: string
  waiting: (() => void)[]
}

/** @param cleared called when capacity returns */
export const makePendingCommits = (
  cleared: () => void,
  now: () => number = () => performance.now(),
): PendingCommits => {
  const taken = new Map<string, PendingPart>()
  const byCarrier = new Map<string, PendingPart>()
  const counts = new Map<string, number>()

  const forget = (key: string, one: PendingPart) => {
    const { connection, carrierKey, waiting } = one
    taken.delete(key)
    if (byCarrier.get(carrierKey) === one) byCarrier.delete(carrierKey)
    for (const go of waiting) go()
    counts.set(connection, (counts.get(connection) ?? 1) - 1)
  }

  const forgetOld = () => {
    for (const [key, one] of taken) {
      if (now() - one.at < maxPendingCommitMs) return
      forget(key, one)
    }
  }

  const pendingOf = (connection: string, carrierId: string): PendingPart | undefined => {
    for (const { key } of idForms(carrierId)) {
      const one = byCarrier.get(`${connection} ${key}`)
      if (one) return one
    }
    return undefined
  }

  return {
    add: (connection, message, part, carrierId) => {
      const key = `${message} ${part}`
      const known = taken.get(key)
      if (known) forget(key, known)
      const carrierKey = `${connection} ${normalizeId(carrierId)}`
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
    whenCommitted: (connection, carrierId, ours) => {
      if (taken.size === 0) return null
      const one = ours ? taken.get(`${ours.message} ${ours.part}`) : pendingOf(connection, carrierId)
      if (!one) return null
      return new Promise((resolve) => {
        const timer = setTimeout(resolve, maxCommitWaitMs)
        one.waiting.push(() => {
          clearTimeout(timer)
          resolve()
        })
      })
    },
    count: (connection) => {
      forgetOld()
      return counts.get(connection) ?? 0
    },
  }
}
