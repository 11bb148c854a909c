/** Who asks for a place: calls are counted by host, and those to receivers that are not well by account too. */
export type Place = { readonly account: string; readonly host: string; readonly isQuick: boolean }

/** Holds calls to a number for each host, and for receivers that are well apart from all others: however many do not answer,
 *  they take no place of those that do. */
export type Gate = {
  /** Whether there was room. Whoever enters leaves. */
  enter(place: Place): boolean
  leave(place: Place): void
  /** Calls `go` once the place is there: with it, as if it had entered. Hosts take turns, and so do those of one host. */
  wait(place: Place, go: () => void): void
  /** Calls under way. */
  used(): number
}

export type Room = { readonly each: number; readonly quick: number; readonly other: number }

type Waiting = { readonly place: Place; readonly go: () => void }
/** By host. */
type Queues = Map<string, Waiting[]>

const count = (map: Map<string, number>, key: string, change: number) => {
  const now = (map.get(key) ?? 0) + change
  if (now === 0) map.delete(key)
  else map.set(key, now)
}

export const makeGate = (most: Room): Gate => {
  const hosts = new Map<string, number>()
  /** Calls of each account: to receivers that are well, and to all others. */
  const accounts = { quick: new Map<string, number>(), other: new Map<string, number>() }
  const queues: Record<'quick' | 'other', Queues> = { quick: new Map(), other: new Map() }
  let quick = 0
  let other = 0
  /** What was left while others were let in, or asked for. */
  const left: Place[] = []
  let isServing = false

  const free = (isQuick: boolean) => (isQuick ? most.quick - quick : most.other - other)

  const ownOf = ({ account, isQuick }: Place) => (isQuick ? accounts.quick : accounts.other).get(account) ?? 0

  // Of the places for receivers that are not well an account holds no more than it leaves free: so each next account finds
  // room at once, and one that is alone may hold half. Receivers that are well end soon: a quarter is left to others.
  const mostQuick = Math.ceil((most.quick * 3) / 4)
  const hasRoom = (place: Place) => {
    if ((hosts.get(place.host) ?? 0) >= most.each) return false
    const room = free(place.isQuick)
    return place.isQuick ? room > 0 && ownOf(place) < mostQuick : ownOf(place) < room
  }

  const change = ({ account, host, isQuick }: Place, by: number) => {
    count(hosts, host, by)
    if (isQuick) quick += by
    else other += by
    count(isQuick ? accounts.quick : accounts.other, account, by)
  }

  /** Lets in one of those who wait for a host. */
  const serveHost = (of: Queues, host: string): void => {
    const queue = of.get(host) ?? []
    // The account with the fewest calls goes first: a tenant's many webhooks do not outnumber another's one.
    let next = -1
    let fewest = Number.POSITIVE_INFINITY
    for (const [i, { place }] of queue.entries()) {
      if (ownOf(place) >= fewest || !hasRoom(place)) continue
      next = i
      fewest = ownOf(place)
      if (fewest === 0) break
    }
    const [one] = next < 0 ? [] : queue.splice(next, 1)
    if (!one) return
    // To the end of the line of hosts.
    of.delete(host)
    if (queue.length > 0) of.set(host, queue)
    change(one.place, 1)
    one.go()
  }

  /** Lets in whoever can go since that place was left. */
  const serve = ({ host, isQuick }: Place) => {
    const [own, others] = isQuick ? [queues.quick, queues.other] : [queues.other, queues.quick]
    for (const waited of own.keys()) {
      if (free(isQuick) <= 0) break
      if ((hosts.get(waited) ?? 0) < most.each) serveHost(own, waited)
    }
    if (others.has(host)) serveHost(others, host)
  }

  const serveSince = (place: Place) => {
    left.push(place)
    if (isServing) return
    isServing = true
    for (let next = left.shift(); next; next = left.shift()) serve(next)
    isServing = false
  }

  return {
    // Whoever could go in was let in when there was room: nobody is overtaken by who comes later, or asks meanwhile.
    enter: (place) => {
      if (isServing || !hasRoom(place)) return false
      change(place, 1)
      return true
    },
    leave: (place) => {
      change(place, -1)
      serveSince(place)
    },
    wait: (place, go) => {
      const of = place.isQuick ? queues.quick : queues.other
      const queue = of.get(place.host) ?? []
      queue.push({ place, go })
      of.set(place.host, queue)
      if (isServing) left.push(place)
    },
    used: () => quick + other,
  }
}
