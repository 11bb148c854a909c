import type { Tx } from '../../../platform/db/sql.ts'
import type { Account } from '../../../platform/http/auth.ts'
import { Problem } from '../../../platform/http/problem.ts'
import { extendPayload } from '../../../platform/jobs/ops.ts'
import type { Services } from '../../../services.ts'
import { takeUploads, Unavailable } from '../../msgapp/media/ops.ts'
import { quoteFor } from '../accept/quote.ts'
import { maxMediaBytes, maxMediaFetchMs } from '../limits.ts'
import { refusals } from '../refusals.ts'
import type { Decision } from '../route/route-table.ts'
import * as store from '../store.ts'

// Files of messages that we send (MMS). They are fetched before the message is accepted, as uploads of the media store,
// and carriers get signed links to them.

/** Uploads of the files of a message, in order; or why the message cannot be sent. The fault is thrown where the message
 *  is sent: a repeated request with an Idempotency-Key has its stored answer, whatever its URLs give by now. */
export type FetchedMedia = { readonly uploads: readonly string[]; readonly fault: Problem | null }

/** @throws the 406 Problem unless a connection of the route takes files */
export const requireMms = ({ candidates }: Decision, to: string): void => {
  if (!candidates.some(({ mms }) => mms)) throw refusals.mmsNotSupported(to)
}

type FetchDeps = Pick<Services, 'chat' | 'prices' | 'routing' | 'sandboxAccounts'>

/**
 * Fetches the files of a message, if it can be sent at all.
 * @param check throws a Problem if something else of the message is wrong
 */
export const fetchMedia = async (
  { chat: { media }, ...deps }: FetchDeps,
  account: Pick<Account, 'id' | 'a2pUs'>,
  { urls, check }: { readonly urls: readonly string[]; check(): { readonly to: string } },
): Promise<FetchedMedia> => {
  const uploads: string[] = []
  try {
    const { to } = check()
    requireMms(quoteFor(deps, account, to, true).decision, to)
    const signal = AbortSignal.timeout(maxMediaFetchMs)
    let left = maxMediaBytes
    for (const [index, url] of urls.entries()) {
      const { id, size } = await media.fetchUpload(account.id, url, left, signal).catch((error: unknown) => {
        throw error instanceof Unavailable ? refusals.mediaUnavailable(index, url, error.message) : error
      })
      uploads.push(id)
      left -= size ?? 0
    }
    return { uploads, fault: null }
  } catch (error) {
    await media.removeUploads(account.id, uploads)
    if (error instanceof Problem) return { uploads: [], fault: error }
    throw error
  }
}

/** Makes uploads the files of a message that the transaction accepted. @throws the 404 Problem if one is gone */
export const attachMedia = async (
  tx: Tx,
  account: string,
  { id, channel }: { readonly id: string; readonly channel: string },
  uploads: readonly string[],
): Promise<void> => {
  await takeUploads(tx, account, uploads, channel)
  await store.setMedia(tx, account, id, uploads)
  await extendPayload(tx, id, { media: uploads })
}
