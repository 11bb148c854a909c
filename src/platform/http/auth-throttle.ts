import { peerKeyOf } from '../lib/address-list.ts'
import { makeFairLimiter } from '../lib/fair-limiter.ts'
import { isFalseKey, keyDigest } from '../lib/secret.ts'
import {
  keyLookupLimits,
  maxSucceededKeys,
  maxThrottledPeers,
  maxThrottleWaitMs,
  throttledLookupMs,
  throttleResetMs,
} from './limits.ts'
import type { Problem } from './problem.ts'
import { refusals } from './refusals.ts'

/** Keys of one kind. */
export type KeyStore<T> = {
  /** Returns the owner of a key from the cache of this process. */
  cached(key: string): T | null
  /** Returns the owner of a key from the database. */
  find(key: string): Promise<T | null>
}

/** Keys from settings have at least 20 characters; generated keys have a checksum. */
const isMalformedKey = (key: string): boolean => key.length < 20 || isFalseKey(key)

/** Wrong keys and tokens of one address (IPv6: of one /64). */
type Peer = {
  /** Failures in the minute that began at `since`. */
  failures: number
  since: number
  last: number
  /** Number of waits so far; the next wait is twice as long. */
  blocks: number
  until: number
  lookedUpAt: number
}

/**
 * Throttles guesses of keys and tokens by address.
 *
 * Wrong keys from an address do not lock out a valid key from the same address (NAT). Cached keys bypass the throttle,
 * once-valid keys are looked up at any rate, and new well-formed keys once a second.
 */
export type AuthThrottle = {
  /** Returns the refusal of an uncached credential before the database is queried; null to continue.
   *  @param key null for a credential that is wrong without a look-up */
  refusal(address: string, key: string | null): Problem | null
  /** Counts a wrong credential. */
  failed(address: string, key: string): void
  /** Remembers a valid key. */
  succeeded(key: string): void
  /** Looks up a key when it is the turn of its address. */
  runInTurn<T>(address: string, look: () => Promise<T>): Promise<T>
}

const minuteMs = 60_000

const trim = (map: { readonly size: number; keys(): Iterator<string>; delete(key: string): boolean }, most: number) => {
  if (map.size <= most) return
  const { value } = map.keys().next()
  if (value !== undefined) map.delete(value)
}

const tooManyFailures = (address: string, milliseconds: number) => {
  const wait = Math.max(1, Math.ceil(milliseconds / 1_000))
  return refusals.tooManyFailures(address, wait)
}

/** @param limit failures within a minute before an address has to wait; 0: never */
export const makeAuthThrottle = (limit: number, now: () => number = () => performance.now()): AuthThrottle => {
  const peers = new Map<string, Peer>()
  const proved = new Set<string>()
  const turns = makeFairLimiter({ ...keyLookupLimits, full: refusals.tooManyKeyLookups })
  return {
    runInTurn: (address, look) => turns.run(peerKeyOf(address), look),
    refusal: (address, key) => {
      const peer = peers.size > 0 ? peers.get(peerKeyOf(address)) : undefined
      const wait = peer ? peer.until - now() : 0
      if (!peer || wait <= 0 || (key !== null && proved.has(keyDigest(key)))) return null
      if (key === null || now() - peer.lookedUpAt < throttledLookupMs) return tooManyFailures(address, wait)
      peer.lookedUpAt = now()
      return null
    },
    failed: (address, key) => {
      if (limit === 0) return
      proved.delete(keyDigest(key))
      const name = peerKeyOf(address)
      const at = now()
      const fresh = { failures: 0, since: at, last: at, blocks: 0, until: at, lookedUpAt: at }
      const kept = peers.get(name)
      const peer = kept && at - kept.last < throttleResetMs ? kept : fresh
      // Reinserted at the end: the peer with the oldest failure is evicted first.
      peers.delete(name)
      peers.set(name, peer)
      trim(peers, maxThrottledPeers)
      peer.last = at
      if (peer.until > at) return
      if (at - peer.since >= minuteMs) Object.assign(peer, { failures: 0, since: at })
      peer.failures++
      if (peer.blocks === 0 && peer.failures < limit) return
      peer.until = at + Math.min(maxThrottleWaitMs, 1_000 * 2 ** peer.blocks)
      peer.blocks = Math.min(peer.blocks + 1, 16)
      peer.lookedUpAt = at
    },
    succeeded: (key) => {
      if (limit === 0) return
      proved.add(keyDigest(key))
      trim(proved, maxSucceededKeys)
    },
  }
}

/** Looks up an uncached key. @throws Problem 429, or `wrong` */
export const lookUp = async <T>(
  throttle: AuthThrottle,
  address: string,
  key: string,
  keys: KeyStore<T>,
  wrong: () => Problem,
): Promise<T> => {
  const isNone = isMalformedKey(key)
  const refusal = throttle.refusal(address, isNone ? null : key)
  if (refusal) throw refusal
  const found = isNone ? null : await throttle.runInTurn(address, () => keys.find(key))
  if (found === null) {
    throttle.failed(address, key)
    throw wrong()
  }
  throttle.succeeded(key)
  return found
}
