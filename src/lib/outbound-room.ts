/** Holds exchanges to a number for each receiver and in all. */
export type Room = {
  /** Null when there is room at once, else a promise of it. Whoever enters leaves; who gives up by the signal never entered. */
  enter(key: string, signal?: AbortSignal): Promise<void> | null
  leave(key: string): void
  /** Exchanges under way. */
  used(): number
}

/** Whoever waits for the same receiver is let in one after the other; receivers take turns. */
export const makeRoom = (most: { readonly each: number; readonly all: number }): Room => {
  const inside = new Map<string, number>()
  const waiting = new Map<string, (() => void)[]>()
  let all = 0

  const hasRoom = (key: string) => all < most.all && (inside.get(key) ?? 0) < most.each

  const admit = (key: string) => {
    all++
    inside.set(key, (inside.get(key) ?? 0) + 1)
  }

  const next = () => {
    for (const [key, queue] of waiting) {
      if (all >= most.all) return
      if (!hasRoom(key)) continue
      // To the end of the line of receivers.
      waiting.delete(key)
      const go = queue.shift()
      if (queue.length > 0) waiting.set(key, queue)
      if (!go) continue
      admit(key)
      go()
      return
    }
  }

  return {
    enter: (key, signal) => {
      if (hasRoom(key) && !waiting.has(key)) {
        admit(key)
        return null
      }
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const giveUp = () => {
        const others = (waiting.get(key) ?? []).filter((one) => one !== go)
        if (others.length > 0) waiting.set(key, others)
        else waiting.delete(key)
        reject(signal?.reason)
      }
      const go = () => {
        signal?.removeEventListener('abort', giveUp)
        resolve()
      }
      if (signal?.aborted) return Promise.reject(signal.reason)
      signal?.addEventListener('abort', giveUp, { once: true })
      const queue = waiting.get(key) ?? []
      queue.push(go)
      waiting.set(key, queue)
      return promise
    },
    leave: (key) => {
      all--
      const left = (inside.get(key) ?? 1) - 1
      if (left === 0) inside.delete(key)
      else inside.set(key, left)
      if (waiting.size > 0) next()
    },
    used: () => all,
  }
}
