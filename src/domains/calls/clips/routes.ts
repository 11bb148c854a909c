import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { ok, route, routeWithoutTransaction } from '../../../platform/http/endpoint.ts'
import { cursorsOf } from '../../../platform/http/list-cursor.ts'
import { cutPage, requestedPage, totalFields } from '../../../platform/http/paging.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { iso } from '../../../platform/lib/clock.ts'
import { parse, print, uuid } from '../../../platform/lib/id.ts'
import { mediaTypeOf } from '../../../platform/lib/media-type.ts'
import type { Services } from '../../../services.ts'
import { keepUpload, type Media, removeFiles, type StoredMedia } from '../../msgapp/media/ops.ts'
import { refusals as mediaRefusals } from '../../msgapp/refusals.ts'
import { maxClips, maxSoundBytes } from '../limits.ts'
import { refusals } from '../refusals.ts'
import { describeSound } from '../sounds/sound-format.ts'
import { UnusableSound } from '../sounds/unusable-sound.ts'
import * as c from './contract.ts'
import * as store from './store.ts'

const presentClip = (media: Media, { account_id: account, ...row }: store.ClipRow) => ({
  uuid: print('CLP', row.id),
  name: row.name,
  media_type: row.media_type,
  size: row.size,
  ...(row.seconds === null ? {} : { seconds: row.seconds }),
  url: media.links.urlOf(account, row.media_id),
  created_at: iso(row.created_at),
})

/** Bytes of a file that describe it. */
const headBytes = 65_536

const describe = async (media: Media, file: StoredMedia) => {
  const size = file.size ?? 0
  const head = await buffer(await media.read(file, { start: 0, end: Math.min(size, headBytes) - 1 }))
  try {
    return describeSound(head, size)
  } catch (error) {
    throw error instanceof UnusableSound ? refusals.invalidSound(error.message) : error
  }
}

const cursors = cursorsOf(c.listClips)

export const clipRoutes = ({ db, chat: { media } }: Pick<Services, 'db' | 'chat'>) => {
  const clipOf = async (account: string, printed: string) => {
    const id = parse('CLP', printed)
    return (id && (await store.find(db, account, id))) || refuse(refusals.unknownClip(printed))
  }

  /** Makes an upload a clip. A crash before the commit leaves an upload, which is deleted after a day. */
  const makeClip = async (account: string, name: string, file: StoredMedia) => {
    const { mediaType, seconds } = await describe(media, file)
    return await db.begin(async (tx) => {
      const count = await store.countLocked(tx, account)
      if (count >= maxClips) throw refusals.tooManyClips(count, maxClips)
      await keepUpload(tx, account, file.id)
      const clip = { account_id: account, id: uuid(), name, media_id: file.id, media_type: mediaType }
      return store.add(tx, { ...clip, size: file.size ?? 0, seconds })
    })
  }

  return [
    routeWithoutTransaction(c.uploadClip, async ({ account, query: { name }, body, request }) => {
      if (Number(request.headers['content-length'] ?? 0) > maxSoundBytes)
        throw mediaRefusals.uploadTooLarge(maxSoundBytes)
      // An empty body has no stream.
      const upload = {
        body: body ?? Readable.from([]),
        mime: mediaTypeOf(request.headers['content-type']),
        name,
        most: maxSoundBytes,
      }
      const file = await media.upload(account.id, upload)
      try {
        return ok({ clip: presentClip(media, await makeClip(account.id, name, { ...file, key: file.key ?? '' })) })
      } catch (error) {
        await media.removeUploads(account.id, [file.id])
        throw error
      }
    }),

    route(c.listClips, async ({ account, query }) => {
      const pageRequest = requestedPage(query, cursors.key(query.cursor))
      const [found, total] = await Promise.all([
        store.page(db, account.id, pageRequest.read),
        store.total(db, account.id),
      ])
      const { rows, fields } = cutPage(pageRequest, found, ({ at, id }) => cursors.write({ time: at, id }))
      return ok({ ...fields, ...totalFields(total), clips: rows.map((row) => presentClip(media, row)) })
    }),

    route(c.getClip, async ({ account, params }) =>
      ok({ clip: presentClip(media, await clipOf(account.id, params.clip_uuid)) }),
    ),

    route(c.deleteClip, async ({ account, params, tx }) => {
      const printed = params.clip_uuid
      const id = parse('CLP', printed)
      const removed = (id && (await store.remove(tx, account.id, id))) || refuse(refusals.unknownClip(printed))
      await removeFiles(tx, account.id, [removed.media_id])
      return ok({})
    }),
  ]
}
