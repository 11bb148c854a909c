import { GiveUp, Retry } from '../../jobs/kind.ts'
import type { Get, Outbound } from '../../lib/outbound.ts'
import type { Parts } from '../../parts.ts'
import type { Act } from '../acts.ts'
import { type Final, final } from '../final.ts'
import type { Turns } from '../media/turns.ts'
import * as store from './store.ts'

export const pictureAct = 'picture'
export const statusAct = 'status'

/** `group`: the network's id of the group whose picture it is; null for the channel's own. `url` null removes it. */
export type PictureAsked = { readonly url: string | null; readonly group: string | null }

/** One picture after the other, of a channel or a group; they hold up nothing else, since their addresses may take hours. */
export const pictureKey = (id: string): string => `picture ${id}`

const mostBytes = 5 * 1024 * 1024

/** JPEG begins FF D8 FF (ITU-T T.81, B.1.1.3), PNG with the eight bytes of its signature (ISO/IEC 15948, 5.2). */
const isPicture = (image: Buffer): boolean =>
  image.subarray(0, 3).equals(Buffer.from('ffd8ff', 'hex')) ||
  image.subarray(0, 8).equals(Buffer.from('89504e470d0a1a0a', 'hex'))

/** @throws GiveUp when it is no picture, or too large */
const fetched = async (outbound: Outbound, url: string, signal: AbortSignal): Promise<Buffer> => {
  const get: Get = { url, idleMs: 10_000, signal }
  const { status, body } = await outbound.get(get)
  const pieces: Buffer[] = []
  let size = 0
  try {
    if (status >= 500 || status === 429) throw new Retry(`the picture's address answered ${status}`, 30)
    if (status !== 200) throw new GiveUp(`the picture's address answered ${status}`)
    for await (const piece of body) {
      size += piece.length
      if (size > mostBytes) throw new GiveUp('the picture is over 5 MB')
      pieces.push(piece)
    }
  } finally {
    body.destroy()
  }
  const image = Buffer.concat(pieces)
  return isPicture(image) ? image : Promise.reject(new GiveUp('it is neither a JPEG nor a PNG'))
}

const unable: Final<unknown> = { outcome: 'refused', reason: 'the network cannot do this' }

const settle =
  (name: string): Act<unknown, Final<unknown>>['settle'] =>
  async (tx, done) => {
    for (const { job, result } of done) {
      const [event, detail] = result.outcome === 'done' ? [`${name}-set`, ''] : [`${name}-failed`, result.reason]
      if (job.account !== null) await store.note(tx, job.account, job.payload.channel, event, detail)
    }
  }

const failed =
  (name: string): NonNullable<Act['failed']> =>
  async (tx, { account, payload: { channel } }, reason) => {
    if (account !== null) await store.note(tx, account, channel, `${name}-failed`, reason)
  }

/** Sets or removes a picture; what became of it is among the channel's events. */
export const makePictureAct = (
  { outbound, sandboxAccounts }: Pick<Parts, 'outbound' | 'sandboxAccounts'>,
  turns: Turns,
): Act<PictureAsked, Final<unknown>> => ({
  run: async (network, job, signal) => {
    const { channel, url, group } = job.payload
    const allowed = outbound.of(job.account !== null && sandboxAccounts.has(job.account))
    const image = url === null ? null : await turns.take(job, signal, (until) => fetched(allowed, url, until))
    const told =
      group === null
        ? await network.setPicture?.(channel, image)
        : await network.changeGroup?.(channel, group, { act: 'picture', image })
    return final<unknown>(job, told ?? unable)
  },
  settle: settle('picture'),
  failed: failed('picture'),
})

export const makeStatusAct = (): Act<{ readonly status: string }, Final<unknown>> => ({
  run: async (network, job) =>
    final<unknown>(job, (await network.setStatus?.(job.payload.channel, job.payload.status)) ?? unable),
  settle: settle('status'),
  failed: failed('status'),
})
