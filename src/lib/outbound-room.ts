/** Holds exchanges to a number for each receiver and in all. */
export type Room = {
  /** Null when there is room at once, else a promise of it. Whoever enters leaves. */
  enter(key: string): Promise<void> | null
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
    enter: (key) => {
      if (hasRoom(key) && !waiting.has(key)) {
        admit(key)
        return null
      }
      return new Promise((resolve) => {
        const queue = waiting.get(key) ?? []
        queue.push(resolve)
        waiting.set(key, queue)
      })
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
