import { routeWithoutTransaction } from '../../../platform/http/endpoint.ts'
import { refuse } from '../../../platform/http/problem.ts'
import type { Services } from '../../../services.ts'
import { getContactPicture } from '../contract.ts'
import { find } from '../ops.ts'
import { refusals } from '../refusals.ts'
import { makePictureCache } from './picture-cache.ts'

export const contactPictureRoutes = ({ db, outbound }: Services) => {
  const pictureOf = makePictureCache()

  return [
    routeWithoutTransaction(getContactPicture, async ({ account, params, request, reply }) => {
      const { profile_pic_url } = await find(db, account.id, params.contact_uuid)
      const url = profile_pic_url || refuse(refusals.noPicture('none is set'))
      const picture = await pictureOf(outbound.of(request.isSandbox), account.id, url)
      if ('missing' in picture) throw refusals.noPicture(picture.missing)
      reply.headers({ 'content-type': picture.type, 'cache-control': 'private, max-age=86400' })
      return picture.bytes
    }),
  ]
}
