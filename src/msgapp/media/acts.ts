import type { Act } from '../acts.ts'
import type { Media } from './ops.ts'

/** Fetches a file of a message that came in. What cannot be had any more is written down with the file. */
export const makeFetch = (media: Media): Act<{ readonly media: string }, null> => ({
  run: async (network, job, signal) => {
    await media.fetch(job, job.payload.media, network, signal)
    return null
  },
  settle: async () => {},
  failed: async (tx, { account, payload }, reason) => {
    await media.giveUp(tx, account ?? '', payload.media, reason)
  },
})
