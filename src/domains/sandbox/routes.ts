import { mask } from '../../platform/http/confidential.ts'
import { ok, route, routeWithoutTransaction } from '../../platform/http/endpoint.ts'
import { refuse } from '../../platform/http/problem.ts'
import { phoneNumber } from '../../platform/http/validation.ts'
import { iso } from '../../platform/lib/clock.ts'
import { print } from '../../platform/lib/id.ts'
import type { Services } from '../../services.ts'
import { hasRealAccounts } from '../accounts/ops.ts'
import { contentsOf } from '../inbox/narrowing/ops.ts'
import { ownerOf } from '../msgapp/channels/ops.ts'
import * as c from './contract.ts'
import { presentCalls } from './handsets/call-presenter.ts'
import { ownedAt } from './handsets/handset.ts'
import { refusals } from './refusals.ts'
import type { ChatItem, SmsItem } from './simulator-client.ts'
import * as store from './store.ts'

export const sandboxRoutes = ({ db, changes, simulator }: Services) => {
  /** Items during which the account held the number at the other end. */
  const ownItems = async (account: string, items: SmsItem[]): Promise<SmsItem[]> => {
    const peers = [...new Set(items.map(({ peer }) => peer))]
    const tenures = await store.ownershipPeriods(db, account, peers)
    return items.filter(({ peer, at }) => ownedAt(tenures, [peer], at))
  }

  const presentChats = async (account: string, items: ChatItem[]) => {
    const tenures = await store.chatOwnershipPeriods(db, account, [...new Set(items.flatMap(({ lines }) => lines))])
    const own = items.filter(({ lines, at }) => ownedAt(tenures, lines, at))
    const rows = await store.byNetworkId(db, account, [...new Set(own.map(({ id }) => id))])
    const messages = new Map(rows.map((row) => [row.network_id, row.message_id]))
    return own.map(({ id, lines: _lines, at, ...item }) => {
      const message = messages.get(id)
      return { ...item, at: iso(Date.parse(at)), ...(message ? { uuid: print('MSG', message) } : {}) }
    })
  }

  const presentSms = async (account: string, items: SmsItem[]) => {
    const own = await ownItems(account, items)
    const ids = own.flatMap(({ carrier_id }) => carrier_id ?? [])
    const messages = new Map((await store.byCarrierId(db, account, ids)).map((row) => [row.carrier_id, row.message_id]))
    return own.map(({ direction, peer, text, at, carrier_id = '' }) => {
      const message = messages.get(carrier_id)
      return { direction, peer, text, at: iso(Date.parse(at)), ...(message ? { uuid: print('SMO', message) } : {}) }
    })
  }

  /** Masks what was written, for a reader who may not see it on the platform either. */
  const masked = <Item extends { text: string; media?: string; digest?: string; pin?: object }>({
    media: _media,
    digest: _digest,
    pin: _pin,
    ...item
  }: Item) => ({ ...item, text: mask })

  return [
    route(c.getHandset, async ({ params, ...call }) => {
      const { account } = call
      const handset = phoneNumber(params.number)
      const { sms, msgapp, calls } = await simulator.handset(handset)
      const [texts, chats] = [await presentSms(account.id, sms), await presentChats(account.id, msgapp)]
      const showsTexts = (await contentsOf(db, call)).messages
      return {
        number: handset,
        sms: showsTexts ? texts : texts.map(masked),
        msgapp: showsTexts ? chats : chats.map(masked),
        calls: await presentCalls(db, account.id, calls),
      }
    }),

    routeWithoutTransaction(c.setHandset, async ({ account, params, body }) => {
      const number = phoneNumber(params.number)
      // The settings of a platform number belong to the account that holds it.
      const owner = await ownerOf(db, number)
      if (owner !== null && owner !== account.id) throw refusals.notAHandset(number)
      await simulator.configure(number, body)
      return ok({})
    }),

    routeWithoutTransaction(c.sendFromHandset, async ({ account, params, body }) => {
      const to = phoneNumber(body.to)
      if (!(await store.hasSmsNumber(db, account.id, to))) throw refusals.unknownNumber(to)
      await simulator.send(phoneNumber(params.number), to, body.text)
      return ok({})
    }),

    route(c.moveClock, async ({ body, tx }) => {
      if (await hasRealAccounts(tx)) throw refusals.clockShared()
      const moved = await store.advance(tx, body.advance_seconds)
      await changes.invalidate(tx, 'clock')
      return ok({ now: iso((moved ?? refuse(refusals.clockTooFar())).now) })
    }),
  ]
}
