import { storeSyncResult } from '../../contacts/ops.ts'
import { type FinalAnswer, finalAnswer } from '../operations/final-answer.ts'
import type { Operation } from '../operations/operation.ts'
import type { AddressBookEntry } from './ops.ts'

/** Adds a contact to the address book of a channel; the result is stored with the contact. */
export const makeContactOperation = (): Operation<AddressBookEntry, FinalAnswer<null>> => ({
  run: async (network, job) => {
    const { channel, number, firstName, lastName } = job.payload
    return finalAnswer(
      job,
      (await network.saveContact?.(channel, { number, firstName, lastName })) ?? {
        outcome: 'refused',
        reason: 'the network has no address book',
      },
    )
  },
  onComplete: async (tx, done) => {
    for (const { job, result } of done) {
      const { account, payload } = job
      const error = result.outcome === 'done' ? null : result.reason
      if (account !== null) await storeSyncResult(tx, account, payload.contact, payload.channel, error)
    }
  },
  onDiscard: async (tx, { account, payload }, reason) => {
    if (account !== null) await storeSyncResult(tx, account, payload.contact, payload.channel, reason)
  },
})
