import type { ChatAbility } from '../../connectors/chat-port.ts'
import { ok, serve, serveAfter } from '../../http/endpoint.ts'
import { phoneNumber } from '../../http/validation.ts'
import type { Parts } from '../../parts.ts'
import { ask } from '../asking.ts'
import { channelOfNumber } from '../channels/ops.ts'
import { ableOf } from '../drivers.ts'
import { type PictureAsked, pictureAct, pictureKey, statusAct } from './act.ts'
import * as c from './contract.ts'
import { judgePicture } from './ops.ts'

export const pictureRoutes = ({ db, outbound }: Parts) => {
  const able = async (account: string, number: string, ability: ChatAbility) => {
    const { connection, id } = await channelOfNumber(db, account, phoneNumber(number))
    ;(await ableOf(db, connection)).demand(ability)
    return { account, connection, channel: id }
  }

  return [
    serveAfter(
      c.setProfilePicture,
      async ({ account, params, body, request }) => {
        const place = await able(account.id, params.number, 'picture')
        await judgePicture(outbound.of(request.isSandbox), body.url)
        return place
      },
      async ({ body: { url }, tx, prepared }) => {
        const payload: PictureAsked = { url, group: null }
        const key = pictureKey(prepared.channel)
        await ask(tx, { ...prepared, act: pictureAct, key, payload: { ...payload } })
        return ok({ batched: true })
      },
    ),

    serve(c.setStatusText, async ({ account, params, body: { status }, tx }) => {
      const place = await able(account.id, params.number, 'status')
      await ask(tx, { ...place, act: statusAct, key: `status ${place.channel}`, payload: { status } })
      return ok({ batched: true })
    }),
  ]
}
