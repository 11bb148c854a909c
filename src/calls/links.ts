import { timingSafeEqual } from 'node:crypto'
import { type Clock, seconds } from '../lib/clock.ts'
import { print } from '../lib/id.ts'
import type { Seal } from '../lib/secret.ts'

/** Links to recordings that anybody may follow for a while: they go to receivers of webhooks and to browsers. */
export type Links = {
  of(account: string, call: string): string
  /** True when the link is ours and has not ended. */
  isOpen(account: string, call: string, until: string, signature: string): boolean
}

const day = 86_400
/** As of media: a webhook may be delivered late, or again. The end of a day, so that a link stays the same for one. */
const days = 8

const textOf = (account: string, call: string, until: string) => `recording ${account} ${call} ${until}`

export const makeLinks = (given: { seal: Seal; clock: Clock; publicUrl: () => string }): Links => {
  const { seal, clock, publicUrl } = given
  return {
    of: (account, call) => {
      const until = String((Math.floor(seconds(clock.now()) / day) + days) * day)
      const signature = seal.sign(textOf(account, call, until))
      return `${publicUrl()}/recordings/${print('CDR', call)}.wav?account=${account}&until=${until}&signature=${signature}`
    },
    isOpen: (account, call, until, signature) => {
      const [given, ours] = [Buffer.from(signature), Buffer.from(seal.sign(textOf(account, call, until)))]
      return given.length === ours.length && timingSafeEqual(given, ours) && Number(until) > seconds(clock.now())
    },
  }
}
