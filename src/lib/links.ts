import { timingSafeEqual } from 'node:crypto'
import { type Clock, seconds } from './clock.ts'
import type { Seal } from './secret.ts'

/** Links to files that anybody may follow for a while: they go to receivers of webhooks, networks and browsers. */
export type Links = {
  of(account: string, id: string): string
  /** True when the link is ours and has not ended. */
  isOpen(account: string, id: string, until: string, signature: string): boolean
}

export type LinkGround = { readonly seal: Seal; readonly clock: Clock; readonly publicUrl: () => string }

const day = 86_400
/** Seven days at least: a webhook may be delivered late, or again. The end of a day, so that a link stays the same for one. */
const days = 8

/**
 * Links to one kind of file.
 * @param kind stands in what is signed, so that a link to one kind opens no other
 * @param pathOf where a file is served, with its leading slash
 */
export const makeLinks = (
  { seal, clock, publicUrl }: LinkGround,
  kind: string,
  pathOf: (id: string) => string,
): Links => {
  const sign = (account: string, id: string, until: string) => seal.sign(`${kind} ${account} ${id} ${until}`)
  return {
    of: (account, id) => {
      const until = String((Math.floor(seconds(clock.now()) / day) + days) * day)
      return `${publicUrl()}${pathOf(id)}?account=${account}&until=${until}&signature=${sign(account, id, until)}`
    },
    isOpen: (account, id, until, signature) => {
      const [given, ours] = [Buffer.from(signature), Buffer.from(sign(account, id, until))]
      return given.length === ours.length && timingSafeEqual(given, ours) && Number(until) > seconds(clock.now())
    },
  }
}
