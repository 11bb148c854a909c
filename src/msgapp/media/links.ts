import { timingSafeEqual } from 'node:crypto'
import { type Clock, seconds } from '../../lib/clock.ts'
import type { Seal } from '../../lib/secret.ts'

/** Links to files that anybody may follow for a while: they go to receivers of webhooks, networks and browsers. */
export type Links = {
  of(account: string, id: string): string
  /** True when the link is ours and has not ended. */
  isOpen(account: string, id: string, until: string, signature: string): boolean
}

const day = 86_400
/** Seven days at least: a webhook may be delivered late, or again. The end of a day, so that a link stays the same for one. */
const days = 8

const textOf = (account: string, id: string, until: string) => `media ${account} ${id} ${until}`

export const makeLinks = ({
  seal,
  clock,
  publicUrl,
}: {
  seal: Seal
  clock: Clock
  publicUrl: () => string
}): Links => ({
  of: (account, id) => {
    const until = String((Math.floor(seconds(clock.now()) / day) + days) * day)
    const signature = seal.sign(textOf(account, id, until))
    return `${publicUrl()}/media/${id}?account=${account}&until=${until}&signature=${signature}`
  },
  isOpen: (account, id, until, signature) => {
    const [given, ours] = [Buffer.from(signature), Buffer.from(seal.sign(textOf(account, id, until)))]
    return given.length === ours.length && timingSafeEqual(given, ours) && Number(until) > seconds(clock.now())
  },
})
