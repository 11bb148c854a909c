import { timingSafeEqual } from 'node:crypto'
import { type Clock, seconds } from './clock.ts'
import type { Seal } from './secret.ts'

/** Signed links to files, valid for a limited time: for webhook receivers, networks and browsers. */
export type SignedLinks = {
  urlOf(account: string, id: string): string
  /** True if the signature is valid and the link has not expired. */
  isValid(account: string, id: string, until: string, signature: string): boolean
}

export type LinkDeps = { readonly seal: Seal; readonly clock: Clock; readonly publicUrl: () => string }

const day = 86_400
/** At least seven full days, as a webhook may be delivered late or again. Links expire at the end of a day (UTC), so
 *  that a link does not change within a day. */
const days = 8

/**
 * Returns the links of one kind of file.
 * @param kind part of the signed content, so that a link to one kind opens no other
 * @param pathOf returns the path of a file, with a leading slash
 */
export const makeSignedLinks = (
  { seal, clock, publicUrl }: LinkDeps,
  kind: string,
  pathOf: (id: string) => string,
): SignedLinks => {
  const sign = (account: string, id: string, until: string) => seal.sign(`${kind} ${account} ${id} ${until}`)
  return {
    urlOf: (account, id) => {
      const until = String((Math.floor(seconds(clock.now()) / day) + days) * day)
      return `${publicUrl()}${pathOf(id)}?account=${account}&until=${until}&signature=${sign(account, id, until)}`
    },
    isValid: (account, id, until, signature) => {
      const [actual, expected] = [Buffer.from(signature), Buffer.from(sign(account, id, until))]
      return (
        actual.length === expected.length && timingSafeEqual(actual, expected) && Number(until) > seconds(clock.now())
      )
    },
  }
}
