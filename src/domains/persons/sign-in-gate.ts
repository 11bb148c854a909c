import { peerKeyOf } from '../../platform/lib/address-list.ts'
import { maxPacedNames, signInBurst, signInIntervalMs } from './limits.ts'
import { refusals } from './refusals.ts'

type Bucket = { tokens: number; at: number }

/** Paces wrong passwords by address and by person. */
export type SignInGate = {
  /**
   * Runs one attempt. A right one is not counted.
   * @param person e-mail address or id, whether the person exists or not
   * @throws Problem 429 `sign_in_pace`
   */
  attempt(address: string, person: string, verify: () => Promise<boolean>): Promise<boolean>
}

/** Keeps the buckets in this process. @param pacesAddresses false: by person only @param now milliseconds */
export const makeSignInGate = (pacesAddresses: boolean, now: () => number = () => performance.now()): SignInGate => {
  const buckets = new Map<string, Bucket>()

  const bucketOf = (name: string): Bucket => {
    const at = now()
    const known = buckets.get(name) ?? { tokens: signInBurst, at }
    const tokens = Math.min(signInBurst, known.tokens + (at - known.at) / signInIntervalMs)
    const bucket = { tokens, at }
    // Reinserted at the end: the bucket with the oldest attempt is dropped first.
    buckets.delete(name)
    buckets.set(name, bucket)
    if (buckets.size > maxPacedNames)
      for (const oldest of buckets.keys().take(maxPacedNames / 10)) buckets.delete(oldest)
    return bucket
  }

  return {
    attempt: async (address, person, verify) => {
      const names = [...(pacesAddresses ? [`address ${peerKeyOf(address)}`] : []), `person ${person}`]
      const wanted = names.map(bucketOf)
      const least = Math.min(...wanted.map(({ tokens }) => tokens))
      if (least < 1) throw refusals.signInPace(Math.max(1, Math.ceil(((1 - least) * signInIntervalMs) / 1_000)))
      for (const bucket of wanted) bucket.tokens -= 1
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
  }
}
