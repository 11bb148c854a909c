import { ok, route, routeWithPreparation } from '../../../platform/http/endpoint.ts'
import { phoneNumber } from '../../../platform/http/validation.ts'
import type { ChatCapability } from '../../../ports/chat.ts'
import type { Services } from '../../../services.ts'
import { channelOfNumber } from '../channels/ops.ts'
import { requestOperation } from '../operations/requests.ts'
import { abilitiesOf } from '../runner/drivers.ts'
import * as c from './contract.ts'
import { checkPictureUrl } from './ops.ts'
import { type PictureRequest, pictureKey, pictureOperation, statusOperation } from './picture-operation.ts'

export const pictureRoutes = ({ db, outbound }: Services) => {
  const able = async (account: string, number: string, ability: ChatCapability) => {
    const { connection, id } = await channelOfNumber(db, account, phoneNumber(number))
    ;(await abilitiesOf(db, connection)).require(ability)
    return { account, connection, channel: id }
  }

  return [
    routeWithPreparation(
      c.setProfilePicture,
      async ({ account, params, body, request }) => {
        const place = await able(account.id, params.number, 'picture')
        await checkPictureUrl(outbound.of(request.isSandbox), body.url)
        return place
      },
      async ({ body: { url }, tx, prepared }) => {
        const payload: PictureRequest = { url, group: null }
        const key = pictureKey(prepared.channel)
        await requestOperation(tx, { ...prepared, act: pictureOperation, key, payload: { ...payload } })
        return ok({ batched: true })
      },
    ),

    route(c.setStatusText, async ({ account, params, body: { status }, tx }) => {
      const place = await able(account.id, params.number, 'status')
      await requestOperation(tx, {
        ...place,
        act: statusOperation,
        key: `status ${place.channel}`,
        payload: { status },
      })
      return ok({ batched: true })
    }),
  ]
}
