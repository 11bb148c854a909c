import type { Operation } from '../operations/operation.ts'
import type { Media } from './ops.ts'

/** Fetches a file of an inbound message. A permanent failure is stored with the file. */
export const makeFetchOperation = (media: Media): Operation<{ readonly media: string }, null> => ({
  run: async (network, job, signal) => {
    await media.fetch(job, job.payload.media, network, signal)
    return null
  },
  onComplete: async () => {},
  onDiscard: async (tx, { account, payload }, reason) => {
    await media.markFailed(tx, account ?? '', payload.media, reason)
  },
})
