import { makeBatcher, OverloadedError } from '../db/batcher.ts'
import { peerKeyOf } from '../lib/address-list.ts'
import { makeFairLimiter } from '../lib/fair-limiter.ts'
import { isFalseKey, keyHash } from '../lib/secret.ts'
import { keyLookupLimits, maxThrottledPeers, maxThrottleWaitMs, throttledLookups, throttleResetMs } from './limits.ts'
import { Problem } from './problem.ts'
import { refusals } from './refusals.ts'

/** Keys of one kind. */
export type KeyStore<T> = {
  /** Returns the owner of a key from the cache of this process. */
  cached(key: string): T | null
  /** Returns the owner of a key from the database. */
  find(key: string): Promise<T | null>
  /** Reports whether a key exists, together with those of other requests. */
  exists(address: string, key: string): Promise<boolean>
}

/**
 * Returns the check of keys from addresses that have to wait. Keys of many requests share a statement, so that a flood of
 * wrong ones is cheap, and each is judged before it is refused.
 * @param read returns which of these SHA-256 are of valid keys
 */
export const makeExistenceCheck = (
  read: (hashes: readonly Buffer[]) => Promise<readonly { readonly hash: Buffer }[]>,
): KeyStore<unknown>['exists'] => {
  type Row = { readonly address: string; readonly hash: Buffer }
  const find = async (rows: readonly Row[]): Promise<boolean[]> => {
    const found = new Set((await read(rows.map(({ hash }) => hash))).map(({ hash }) => hash.toString('base64')))
    return rows.map(({ hash }) => found.has(hash.toString('base64')))
  }
  const { add } = makeBatcher(find, { ...throttledLookups, keyOf: ({ address }) => address })
  return async (address, key) => {
    try {
      return await add({ address: peerKeyOf(address), hash: keyHash(key) })
    } catch (error) {
      if (error instanceof OverloadedError) return false
      throw error
    }
  }
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
}

/**
 * Throttles guesses of keys and tokens by address.
 *
 * Wrong keys from an address do not lock out a valid key from the same address (NAT): cached keys bypass the throttle,
 * and `lookUp` checks that no valid key is refused.
 */
export type AuthThrottle = {
  /** Returns the refusal of a wrong credential from an address that has to wait; null if it need not. */
  refusal(address: string): Problem | null
  /** Counts a wrong credential. */
  failed(address: string): void
  /** Looks up a key when it is the turn of its address. */
  runInTurn<T>(address: string, look: () => Promise<T>): Promise<T>
}

const minuteMs = 60_000

const tooManyFailures = (address: string, milliseconds: number) => {
  const wait = Math.max(1, Math.ceil(milliseconds / 1_000))
  return refusals.tooManyFailures(address, wait)
}

/** @param limit failures within a minute before an address has to wait; 0: never */
export const makeAuthThrottle = (limit: number, now: () => number = () => performance.now()): AuthThrottle => {
  const peers = new Map<string, Peer>()
  const turns = makeFairLimiter({ ...keyLookupLimits, full: refusals.tooManyKeyLookups })
  return {
    runInTurn: (address, look) => turns.run(peerKeyOf(address), look),
    refusal: (address) => {
      const peer = peers.size > 0 ? peers.get(peerKeyOf(address)) : undefined
      const wait = peer ? peer.until - now() : 0
      return wait > 0 ? tooManyFailures(address, wait) : null
    },
    failed: (address) => {
      if (limit === 0) return
      const name = peerKeyOf(address)
      const at = now()
      const fresh = { failures: 0, since: at, last: at, blocks: 0, until: at }
      const known = peers.get(name)
      const peer = known && at - known.last < throttleResetMs ? known : fresh
      // Reinserted at the end: the peer with the oldest failure is evicted first.
      peers.delete(name)
      peers.set(name, peer)
      if (peers.size > maxThrottledPeers) for (const oldest of peers.keys().take(1)) peers.delete(oldest)
      peer.last = at
      if (peer.until > at) return
      if (at - peer.since >= minuteMs) Object.assign(peer, { failures: 0, since: at })
      peer.failures++
      if (peer.blocks === 0 && peer.failures < limit) return
      peer.until = at + Math.min(maxThrottleWaitMs, 1_000 * 2 ** peer.blocks)
      peer.blocks = Math.min(peer.blocks + 1, 16)
    },
  }
}

/** Looks up a key when it is the turn of its address. A queue full of wrong keys refuses no right one. */
const findInTurn = async <T>(
  throttle: AuthThrottle,
  address: string,
  key: string,
  keys: KeyStore<T>,
): Promise<T | null> => {
  try {
    return await throttle.runInTurn(address, () => keys.find(key))
  } catch (error) {
    const isFull = error instanceof Problem && error.code === 'too_many_key_lookups'
    if (isFull && (await keys.exists(address, key))) return await keys.find(key)
    throw error
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
  const refusal = throttle.refusal(address)
  if (refusal && (isNone || !(await keys.exists(address, key)))) throw refusal
  const found = isNone ? null : await findInTurn(throttle, address, key, keys)
  if (found === null) {
    throttle.failed(address)
    throw wrong()
  }
  return found
}
