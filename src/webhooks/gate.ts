/** Holds calls to a number for each host, and for receivers that are well apart from all others: however many do not answer,
 *  they take no place of those that do. */
export type Gate = {
  /** Whether there was room. Whoever enters leaves. */
  enter(host: string, isQuick: boolean): boolean
  leave(host: string, isQuick: boolean): void
  /** Calls `go` once there may be room; those who wait take turns. */
  wait(host: string, isQuick: boolean, go: () => void): void
  /** Calls under way. */
  used(): number
}

export type Room = { readonly each: number; readonly quick: number; readonly other: number }

type Waiting = { readonly host: string; readonly isQuick: boolean; readonly go: () => void }

export const makeGate = (most: Room): Gate => {
  const hosts = new Map<string, number>()
  const waiting = new Set<Waiting>()
  let quick = 0
  let other = 0
  let isLooking = false

  const hasRoom = (host: string, isQuick: boolean) =>
    (hosts.get(host) ?? 0) < most.each && (isQuick ? quick < most.quick : other < most.other)

  const look = () => {
    isLooking = false
    for (const one of [...waiting]) {
      if (!hasRoom(one.host, one.isQuick)) continue
      waiting.delete(one)
      one.go()
    }
  }

  return {
    enter: (host, isQuick) => {
      if (!hasRoom(host, isQuick)) return false
      hosts.set(host, (hosts.get(host) ?? 0) + 1)
      if (isQuick) quick++
      else other++
      return true
    },
    leave: (host, isQuick) => {
      const left = (hosts.get(host) ?? 1) - 1
      if (left === 0) hosts.delete(host)
      else hosts.set(host, left)
      if (isQuick) quick--
      else other--
      if (waiting.size === 0 || isLooking) return
      isLooking = true
      setImmediate(look)
    },
    wait: (host, isQuick, go) => void waiting.add({ host, isQuick, go }),
    used: () => quick + other,
  }
}
