import { peerOf } from '../lib/address-list.ts'
import { makeFairLimiter } from '../lib/fair-limiter.ts'
import { isFalseKey, keyDigest } from '../lib/secret.ts'
import { Problem } from './problem.ts'

/** Keys of one kind. */
export type Keys<T> = {
  /** Whose key it is, when this process knows it. */
  known(key: string): T | null
  /** Whose key it is, from the database. */
  find(key: string): Promise<T | null>
}

/** Keys that the settings name have at least 20 characters, ours a checksum. */
const isNoKey = (key: string): boolean => key.length < 20 || isFalseKey(key)

/** Wrong keys and tokens of one address (IPv6: of one /64) as they come in. */
type Peer = {
  /** Within the minute that began at `since`. */
  failures: number
  since: number
  last: number
  /** How often it has had to wait; the next wait is twice as long. */
  blocks: number
  until: number
  lookedUpAt: number
}

/**
 * Slows down guesses of keys and tokens by the address that they come from.
 *
 * A right key is not locked out by wrong ones from the same address (NAT): known keys never come here, keys that were right
 * before are looked up at any rate, and well-formed keys that are new to this process once a second.
 */
export type AuthThrottle = {
  /** The refusal of a credential that this process does not know, before the database is asked; null to go on.
   *  @param key null for one that needs no look-up to be wrong */
  refusal(address: string, key: string | null): Problem | null
  /** Counts a wrong credential. */
  failed(address: string, key: string): void
  /** Remembers a key that was right. */
  proved(key: string): void
  /** Looks a key up in the turn of its address. */
  inTurn<T>(address: string, look: () => Promise<T>): Promise<T>
}

const minuteMs = 60_000
/** A peer without failures for this long begins with short waits again. */
const forgetMs = 600_000
const longestWaitMs = 60_000
const lookupMs = 1_000
/** Bounds memory: some 200 bytes each. */
const mostPeers = 10_000
const mostProved = 10_000

const trim = (map: { readonly size: number; keys(): Iterator<string>; delete(key: string): boolean }, most: number) => {
  if (map.size <= most) return
  const { value } = map.keys().next()
  if (value !== undefined) map.delete(value)
}

const tooManyFailures = (address: string, milliseconds: number) => {
  const wait = Math.max(1, Math.ceil(milliseconds / 1_000))
  return new Problem(
    'tooMany',
    `Too many wrong keys or tokens came from ${address}: try again in ${wait} s. Keys that have worked before are not affected`,
    'too_many_failures',
    { 'retry-after': String(wait) },
  )
}

/** Keys that are looked up at a time, by the address that sent them and in all: wrong keys cost no more connections. */
const lookups = { perKey: 2, total: 3, queue: { perKey: 200, total: 5_000 } }

const tooManyLookups = () =>
  new Problem(
    'unavailable',
    'Too many keys of this address wait to be checked: try again in a second',
    'too_many_key_lookups',
    { 'retry-after': '1' },
  )

/** @param limit failures within a minute before an address has to wait; 0: never */
export const makeAuthThrottle = (limit: number, now: () => number = () => performance.now()): AuthThrottle => {
  const peers = new Map<string, Peer>()
  const proved = new Set<string>()
  const turns = makeFairLimiter({ ...lookups, full: tooManyLookups })
  return {
    inTurn: (address, look) => turns.run(peerOf(address), look),
    refusal: (address, key) => {
      const peer = peers.size > 0 ? peers.get(peerOf(address)) : undefined
      const wait = peer ? peer.until - now() : 0
      if (!peer || wait <= 0 || (key !== null && proved.has(keyDigest(key)))) return null
      if (key === null || now() - peer.lookedUpAt < lookupMs) return tooManyFailures(address, wait)
      peer.lookedUpAt = now()
      return null
    },
    failed: (address, key) => {
      if (limit === 0) return
      proved.delete(keyDigest(key))
      const name = peerOf(address)
      const at = now()
      const fresh = { failures: 0, since: at, last: at, blocks: 0, until: at, lookedUpAt: at }
      const kept = peers.get(name)
      const peer = kept && at - kept.last < forgetMs ? kept : fresh
      // Moved to the end: the peer that failed longest ago is forgotten first.
      peers.delete(name)
      peers.set(name, peer)
      trim(peers, mostPeers)
      peer.last = at
      if (peer.until > at) return
      if (at - peer.since >= minuteMs) Object.assign(peer, { failures: 0, since: at })
      peer.failures++
      if (peer.blocks === 0 && peer.failures < limit) return
      peer.until = at + Math.min(longestWaitMs, 1_000 * 2 ** peer.blocks)
      peer.blocks = Math.min(peer.blocks + 1, 16)
      peer.lookedUpAt = at
    },
    proved: (key) => {
      if (limit === 0) return
      proved.add(keyDigest(key))
      trim(proved, mostProved)
    },
  }
}

/** Looks up a key that this process does not know. @throws Problem 429, or `wrong` */
export const lookUp = async <T>(
  throttle: AuthThrottle,
  address: string,
  key: string,
  keys: Keys<T>,
  wrong: () => Problem,
): Promise<T> => {
  const isNone = isNoKey(key)
  const refusal = throttle.refusal(address, isNone ? null : key)
  if (refusal) throw refusal
  const found = isNone ? null : await throttle.inTurn(address, () => keys.find(key))
  if (found === null) {
    throttle.failed(address, key)
    throw wrong()
  }
  throttle.proved(key)
  return found
}
