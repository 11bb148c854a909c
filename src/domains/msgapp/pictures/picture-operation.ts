import { Discard, Retry } from '../../../platform/jobs/job-kind.ts'
import type { GetRequest, Outbound } from '../../../platform/lib/outbound.ts'
import type { Services } from '../../../services.ts'
import { maxPictureBytes } from '../limits.ts'
import type { FetchLimiter } from '../media/fetch-limiter.ts'
import { type FinalAnswer, finalAnswer } from '../operations/final-answer.ts'
import type { Operation } from '../operations/operation.ts'
import * as store from './store.ts'

export const pictureOperation = 'picture'
export const statusOperation = 'status'

/** `group`: network id of the group whose picture it is; null for the channel's own. `url` null removes it. */
export type PictureRequest = { readonly url: string | null; readonly group: string | null }

/**
 * Key that runs pictures of one channel or group in order. Other jobs are not delayed, although picture URLs may take
 * hours.
 */
export const pictureKey = (id: string): string => `picture ${id}`

/** JPEG begins FF D8 FF (ITU-T T.81, B.1.1.3), PNG with the eight bytes of its signature (ISO/IEC 15948, 5.2). */
const isPicture = (image: Buffer): boolean =>
  image.subarray(0, 3).equals(Buffer.from('ffd8ff', 'hex')) ||
  image.subarray(0, 8).equals(Buffer.from('89504e470d0a1a0a', 'hex'))

/** @throws GiveUp if it is not a picture, or too large */
const fetchPicture = async (outbound: Outbound, url: string, signal: AbortSignal): Promise<Buffer> => {
  const get: GetRequest = { url, idleMs: 10_000, signal }
  const { status, body } = await outbound.get(get)
  const pieces: Buffer[] = []
  let size = 0
  try {
    if (status >= 500 || status === 429) throw new Retry(`the picture's address answered ${status}`, 30)
    if (status !== 200) throw new Discard(`the picture's address answered ${status}`)
    for await (const piece of body) {
      size += piece.length
      if (size > maxPictureBytes) throw new Discard('the picture is over 5 MB')
      pieces.push(piece)
    }
  } finally {
    body.destroy()
  }
  const image = Buffer.concat(pieces)
  return isPicture(image) ? image : Promise.reject(new Discard('it is neither a JPEG nor a PNG'))
}

const unsupported: FinalAnswer<unknown> = { outcome: 'refused', reason: 'the network cannot do this' }

const logResult =
  (name: string): Operation<unknown, FinalAnswer<unknown>>['onComplete'] =>
  async (tx, done) => {
    for (const { job, result } of done) {
      const [event, detail] = result.outcome === 'done' ? [`${name}-set`, ''] : [`${name}-failed`, result.reason]
      if (job.account !== null) await store.logEvent(tx, job.account, job.payload.channel, event, detail)
    }
  }

const logFailure =
  (name: string): NonNullable<Operation['onDiscard']> =>
  async (tx, { account, payload: { channel } }, reason) => {
    if (account !== null) await store.logEvent(tx, account, channel, `${name}-failed`, reason)
  }

/** Sets or removes a picture; the result is logged as a channel event. */
export const makePictureOperation = (
  { outbound, sandboxAccounts }: Pick<Services, 'outbound' | 'sandboxAccounts'>,
  fetchLimiter: FetchLimiter,
): Operation<PictureRequest, FinalAnswer<unknown>> => ({
  run: async (network, job, signal) => {
    const { channel, url, group } = job.payload
    const allowed = outbound.of(job.account !== null && sandboxAccounts.has(job.account))
    const image =
      url === null ? null : await fetchLimiter.run(job, signal, (until) => fetchPicture(allowed, url, until))
    const answer =
      group === null
        ? await network.setPicture?.(channel, image)
        : await network.changeGroup?.(channel, group, { act: 'picture', image })
    return finalAnswer<unknown>(job, answer ?? unsupported)
  },
  onComplete: logResult('picture'),
  onDiscard: logFailure('picture'),
})

export const makeStatusOperation = (): Operation<{ readonly status: string }, FinalAnswer<unknown>> => ({
  run: async (network, job) =>
    finalAnswer<unknown>(job, (await network.setStatus?.(job.payload.channel, job.payload.status)) ?? unsupported),
  onComplete: logResult('status'),
  onDiscard: logFailure('status'),
})
