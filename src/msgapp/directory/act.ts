import { synced } from '../../contacts/ops.ts'
import type { Act } from '../acts.ts'
import { type Final, final } from '../final.ts'
import type { Entry } from './ops.ts'

/** Puts a contact into the address book of a channel's account; how that went stands with the contact. */
export const makeContactAct = (): Act<Entry, Final<null>> => ({
  run: async (network, job) => {
    const { channel, number, firstName, lastName } = job.payload
    return final(
      job,
      (await network.keepContact?.(channel, { number, firstName, lastName })) ?? {
        outcome: 'refused',
        reason: 'the network has no address book',
      },
    )
  },
  settle: async (tx, done) => {
    for (const { job, result } of done) {
      const { account, payload } = job
      const error = result.outcome === 'done' ? null : result.reason
      if (account !== null) await synced(tx, account, payload.contact, payload.channel, error)
    }
  },
  failed: async (tx, { account, payload }, reason) => {
    if (account !== null) await synced(tx, account, payload.contact, payload.channel, reason)
  },
})
