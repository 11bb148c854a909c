/** A request for a slot. Calls are counted per host and per account. */
export type Slot = { readonly account: string; readonly host: string; readonly isQuick: boolean }

/**
 * Limits concurrent calls per host, and quick receivers apart from all others (a bulkhead): receivers that do not
 * answer take no slot of those that do.
 */
export type ConcurrencyLimiter = {
  /** Returns whether there was room. Each successful acquire needs a release. */
  tryAcquire(slot: Slot): boolean
  release(slot: Slot): void
  /** Calls `go` once the slot is acquired. Hosts take turns, and so do the waiters of one host. */
  waitFor(slot: Slot, go: () => void): void
  /** Calls under way. */
  active(): number
}

export type ConcurrencyLimits = { readonly perHost: number; readonly quick: number; readonly other: number }

type Waiter = { readonly slot: Slot; readonly go: () => void }
/** Waiters by host. */
type Queues = Map<string, Waiter[]>

const count = (map: Map<string, number>, key: string, change: number) => {
  const now = (map.get(key) ?? 0) + change
  if (now === 0) map.delete(key)
  else map.set(key, now)
}

export const makeConcurrencyLimiter = (limits: ConcurrencyLimits): ConcurrencyLimiter => {
  const hosts = new Map<string, number>()
  /** Calls of each account: to quick receivers, and to all others. */
  const accounts = { quick: new Map<string, number>(), other: new Map<string, number>() }
  const queues: Record<'quick' | 'other', Queues> = { quick: new Map(), other: new Map() }
  let quick = 0
  let other = 0
  /** Slots released, or requested, while waiters were being served. */
  const released: Slot[] = []
  let isAdmitting = false

  const free = (isQuick: boolean) => (isQuick ? limits.quick - quick : limits.other - other)

  const callsOf = ({ account, isQuick }: Slot) => (isQuick ? accounts.quick : accounts.other).get(account) ?? 0

  // An account holds at most as many slots for slow receivers as it leaves free: the next account finds room at once,
  // and a single account may use half. Quick calls end soon: only a quarter is reserved for other accounts.
  const maxQuickPerAccount = Math.ceil((limits.quick * 3) / 4)
  const hasFreeSlot = (slot: Slot) => {
    if ((hosts.get(slot.host) ?? 0) >= limits.perHost) return false
    const room = free(slot.isQuick)
    return slot.isQuick ? room > 0 && callsOf(slot) < maxQuickPerAccount : callsOf(slot) < room
  }

  const change = ({ account, host, isQuick }: Slot, by: number) => {
    count(hosts, host, by)
    if (isQuick) quick += by
    else other += by
    count(isQuick ? accounts.quick : accounts.other, account, by)
  }

  /** Admits one waiter of a host. */
  const admitFromHost = (of: Queues, host: string): void => {
    const queue = of.get(host) ?? []
    // The account with the fewest calls goes first: many webhooks of one tenant do not outnumber another's single
    // one.
    let next = -1
    let fewest = Number.POSITIVE_INFINITY
    for (const [i, { slot }] of queue.entries()) {
      if (callsOf(slot) >= fewest || !hasFreeSlot(slot)) continue
      next = i
      fewest = callsOf(slot)
      if (fewest === 0) break
    }
    const [admitted] = next < 0 ? [] : queue.splice(next, 1)
    if (!admitted) return
    // The host moves to the end of the queue.
    of.delete(host)
    if (queue.length > 0) of.set(host, queue)
    change(admitted.slot, 1)
    admitted.go()
  }

  /** Admits waiters after this slot was released. */
  const admitAfter = ({ host, isQuick }: Slot) => {
    const [ownQueues, others] = isQuick ? [queues.quick, queues.other] : [queues.other, queues.quick]
    for (const waited of ownQueues.keys()) {
      if (free(isQuick) <= 0) break
      if ((hosts.get(waited) ?? 0) < limits.perHost) admitFromHost(ownQueues, waited)
    }
    if (others.has(host)) admitFromHost(others, host)
  }

  const admitWaiters = (slot: Slot) => {
    released.push(slot)
    if (isAdmitting) return
    isAdmitting = true
    for (let next = released.shift(); next; next = released.shift()) admitAfter(next)
    isAdmitting = false
  }

  return {
    // Every waiter that could be admitted was admitted at release. Newcomers therefore overtake no waiter.
    tryAcquire: (slot) => {
      if (isAdmitting || !hasFreeSlot(slot)) return false
      change(slot, 1)
      return true
    },
    release: (slot) => {
      change(slot, -1)
      admitWaiters(slot)
    },
    waitFor: (slot, go) => {
      const of = slot.isQuick ? queues.quick : queues.other
      const queue = of.get(slot.host) ?? []
      queue.push({ slot, go })
      of.set(slot.host, queue)
      if (isAdmitting) released.push(slot)
    },
    active: () => quick + other,
  }
}
