import { peerKeyOf } from '../../platform/lib/address-list.ts'
import { maxPacedNames, openingBurst, openingIntervalMs, signInBurst, signInIntervalMs } from './limits.ts'
import { refusals } from './refusals.ts'

type Bucket = { tokens: number; at: number }

/** Paces wrong passwords by address and by person, and right ones by their owner. */
export type SignInGate = {
  /**
   * Runs one attempt. A right one is not counted.
   * @param person e-mail address or id, whether the person exists or not
   * @throws Problem 429 `sign_in_pace`
   */
  attempt(address: string, person: string, verify: () => Promise<boolean>): Promise<boolean>
  /**
   * Counts a session that is to be opened: each writes rows, also of a right key.
   * @param owner id of the person or key @throws Problem 429 `sign_in_pace`
   */
  admit(owner: string): void
}

type Pace = { readonly burst: number; readonly intervalMs: number }

const wrongPace: Pace = { burst: signInBurst, intervalMs: signInIntervalMs }
const openingPace: Pace = { burst: openingBurst, intervalMs: openingIntervalMs }

/** Keeps the buckets in this process. @param pacesAddresses false: by person only @param now milliseconds */
export const makeSignInGate = (pacesAddresses: boolean, now: () => number = () => performance.now()): SignInGate => {
  const buckets = new Map<string, Bucket>()

  const tokensOf = (name: string, at: number, { burst, intervalMs }: Pace = wrongPace): number => {
    const known = buckets.get(name) ?? { tokens: burst, at }
    return Math.min(burst, known.tokens + (at - known.at) / intervalMs)
  }

  /** Stores a bucket at the end: the one with the oldest attempt is dropped first. */
  const store = (name: string, bucket: Bucket) => {
    buckets.delete(name)
    buckets.set(name, bucket)
    if (buckets.size > maxPacedNames)
      for (const oldest of buckets.keys().take(maxPacedNames / 10)) buckets.delete(oldest)
  }

  return {
    attempt: async (address, person, verify) => {
      const names = [...(pacesAddresses ? [`address ${peerKeyOf(address)}`] : []), `person ${person}`]
      const at = now()
      const least = Math.min(...names.map((name) => tokensOf(name, at)))
      // A refused attempt stores nothing: invented names would push out the buckets of others.
      if (least < 1) throw refusals.signInPace(Math.max(1, Math.ceil(((1 - least) * signInIntervalMs) / 1_000)))
      for (const name of names) store(name, { tokens: tokensOf(name, at) - 1, at })
      const giveBack = () => {
        for (const name of names) {
          const bucket = buckets.get(name)
          if (bucket) bucket.tokens = Math.min(signInBurst, bucket.tokens + 1)
        }
      }
      try {
        const isRight = await verify()
        if (isRight) giveBack()
        return isRight
      } catch (error) {
        giveBack()
        throw error
      }
    },
    admit: (owner) => {
      const name = `opening ${owner}`
      const at = now()
      const tokens = tokensOf(name, at, openingPace)
      if (tokens < 1) throw refusals.openingPace(Math.max(1, Math.ceil(((1 - tokens) * openingIntervalMs) / 1_000)))
      store(name, { tokens: tokens - 1, at })
    },
  }
}
