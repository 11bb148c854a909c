import { hasRealAccounts } from '../accounts/ops.ts'
import { ok, serve, serveOutside } from '../http/endpoint.ts'
import { conflict, invalid, notFound } from '../http/problem.ts'
import { phoneNumber } from '../http/validation.ts'
import { iso } from '../lib/clock.ts'
import { print } from '../lib/id.ts'
import { ownerOf } from '../msgapp/channels/ops.ts'
import type { Parts } from '../parts.ts'
import { shownCalls } from './calls.ts'
import * as c from './contract.ts'
import { isOwn, notHandset } from './handset.ts'
import type { ChatItem, Item } from './simulator.ts'
import * as store from './store.ts'

export const sandboxRoutes = ({ db, changes, simulator }: Parts) => {
  /** The items that belong to the account: while they came, the number at the other end was its own. */
  const ownItems = async (account: string, items: Item[]): Promise<Item[]> => {
    const peers = [...new Set(items.map(({ peer }) => peer))]
    const tenures = await store.tenures(db, account, peers)
    return items.filter(({ peer, at }) => isOwn(tenures, [peer], at))
  }

  const shownChats = async (account: string, items: ChatItem[]) => {
    const tenures = await store.chatTenures(db, account, [...new Set(items.flatMap(({ lines }) => lines))])
    const own = items.filter(({ lines, at }) => isOwn(tenures, lines, at))
    const rows = await store.byNetworkId(db, account, [...new Set(own.map(({ id }) => id))])
    const messages = new Map(rows.map((row) => [row.network_id, row.message_id]))
    return own.map(({ id, lines: _lines, at, ...item }) => {
      const message = messages.get(id)
      return { ...item, at: iso(Date.parse(at)), ...(message ? { uuid: print('MSG', message) } : {}) }
    })
  }

  const shown = async (account: string, items: Item[]) => {
    const own = await ownItems(account, items)
    const ids = own.flatMap(({ carrier_id }) => carrier_id ?? [])
    const messages = new Map((await store.byCarrierId(db, account, ids)).map((row) => [row.carrier_id, row.message_id]))
    return own.map(({ direction, peer, text, at, carrier_id = '' }) => {
      const message = messages.get(carrier_id)
      return { direction, peer, text, at: iso(Date.parse(at)), ...(message ? { uuid: print('SMO', message) } : {}) }
    })
  }

  return [
    serve(c.getHandset, async ({ account, params }) => {
      const handset = phoneNumber(params.number)
      const { sms, msgapp, calls } = await simulator.handset(handset)
      return {
        number: handset,
        sms: await shown(account.id, sms),
        msgapp: await shownChats(account.id, msgapp),
        calls: await shownCalls(db, account.id, calls),
      }
    }),

    serveOutside(c.setHandset, async ({ account, params, body }) => {
      const number = phoneNumber(params.number)
      // How its own line is paired, and what others get of it, is the account's to say.
      const owner = await ownerOf(db, number)
      if (owner !== null && owner !== account.id) notHandset(number)
      await simulator.behave(number, body)
      return ok({})
    }),

    serveOutside(c.sendFromHandset, async ({ account, params, body }) => {
      const to = phoneNumber(body.to)
      if (!(await store.owns(db, account.id, to))) notFound(`${to} is no number of the account`)
      await simulator.send(phoneNumber(params.number), to, body.text)
      return ok({})
    }),

    serve(c.moveClock, async ({ body, tx }) => {
      if (await hasRealAccounts(tx))
        conflict('The clock is one for all accounts, and some are not marked as sandbox accounts', 'clock_is_shared')
      const moved = await store.advance(tx, body.advance_seconds)
      await changes.announce(tx, 'clock')
      return ok({ now: iso((moved ?? invalid('advance_seconds would move the clock over a century forward')).now) })
    }),
  ]
}
