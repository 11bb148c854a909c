import { routeWithoutTransaction } from '../../../platform/http/endpoint.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { parse } from '../../../platform/lib/id.ts'
import type { Services } from '../../../services.ts'
import { getContactPicture } from '../contract.ts'
import { load } from '../ops.ts'
import { refusals } from '../refusals.ts'
import { makePictureCache } from './picture-cache.ts'

export const contactPictureRoutes = ({ db, outbound }: Services) => {
  const pictureOf = makePictureCache()

  return [
    routeWithoutTransaction(getContactPicture, async ({ account, params, request, reply }) => {
      const id = parse('CON', params.contact_uuid) ?? refuse(refusals.unknownContact(params.contact_uuid))
      const [contact = refuse(refusals.unknownContact(params.contact_uuid))] = await load(db, account.id, [id])
      const url = contact.profile_pic_url || refuse(refusals.noPicture('none is set'))
      const picture = await pictureOf(outbound.of(request.isSandbox), account.id, url)
      if ('missing' in picture) throw refusals.noPicture(picture.missing)
      reply.headers({ 'content-type': picture.type, 'cache-control': 'private, max-age=86400' })
      return picture.bytes
    }),
  ]
}
