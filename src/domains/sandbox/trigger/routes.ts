import type { Account } from '../../../platform/http/auth.ts'
import { ok, routeWithoutTransaction } from '../../../platform/http/endpoint.ts'
import { print } from '../../../platform/lib/id.ts'
import type { Services } from '../../../services.ts'
import { change, create, emptyDraft, phoneDetail } from '../../contacts/ops.ts'
import { type Event, record, requireSubscribable } from '../../events/ops.ts'
import { findChannel, requireConnected } from '../../msgapp/channels/ops.ts'
import { channelForEvent, exampleFor, listeningFor } from '../../webhooks/ops.ts'
import { refusals } from '../refusals.ts'
import * as c from './contract.ts'
import { type Origin, triggerCall, triggerChat, triggerSms } from './event-triggers.ts'
import * as store from './store.ts'

type Name = Event['name']

export const triggerRoutes = (parts: Services) => {
  const { db, quotas } = parts

  /** Creates a contact, and changes it for an update event. */
  const causeContact = (account: Account, name: Name): Promise<void> =>
    db.begin(async (tx) => {
      const details = phoneDetail('+447700900123')
      const draft = { ...emptyDraft, first_name: 'Ada', last_name: 'Byron', details }
      const created = await create(tx, quotas, account, draft)
      if (name === 'contact.updated') await change(tx, created, { ...draft, last_name: 'Lovelace' })
    })

  /**
   * Triggers an event on a channel. @returns the channel's id without prefix and as printed, and the origin, null for
   * none
   */
  const caused = async (account: Account, name: Name, named: string | null) => {
    const { kind } = requireSubscribable(name)
    const listening = named === null ? await listeningFor(db, account.id, name) : []
    const choice = { only: named, preferred: listening.flatMap(({ match_id }) => match_id ?? []) }
    if (kind === 'sms') {
      const line = await store.findSmsChannel(db, account.id, choice, name === 'sms.message.received')
      if (!line) throw refusals.missingChannel('number for this SMS: buy one with POST /open/numbers/purchase')
      return { id: line.id, printed: print('SMS', line.id), by: await triggerSms(parts, account, name, line) }
    }
    if (kind === 'call') {
      const line = await store.findCallNumber(db, account.id, choice)
      if (!line) throw refusals.missingChannel('virtual number: buy one with POST /open/numbers/purchase')
      return { id: line.id, printed: print('DID', line.id), by: await triggerCall(parts, name, line) }
    }
    const id = await store.findChatChannel(db, account.id, choice)
    const channel = id === null ? null : await findChannel(db, account.id, id)
    if (!channel)
      throw refusals.missingChannel('channel of the messaging app: create one with POST /open/msgapp/channel/create')
    const printed = print('WPN', channel.id)
    if (channel.platform !== 'sandbox' || name === 'msgapp.number.status') return { id: channel.id, printed, by: null }
    requireConnected(channel)
    const groups = listening.flatMap(({ to_group }) => to_group ?? [])
    return { id: channel.id, printed, by: await triggerChat(parts, name, channel, groups) }
  }

  const recordExample = async (account: string, name: Name, channel: string | null): Promise<void> => {
    const { payload, missing } = await exampleFor(db, account, { name, channel, group: null })
    if (missing !== null) throw refusals.noExample(missing)
    await db.begin((tx) => record(tx, [{ account, name, channel, conversation: null, payload }]))
  }

  return [
    routeWithoutTransaction(c.triggerEvent, async ({ account, params: { event_name: name }, body }) => {
      if (requireSubscribable(name).kind === 'account') {
        const isContact = name.startsWith('contact.')
        await (isContact ? causeContact(account, name) : recordExample(account.id, name, null))
        const via: Origin | 'example' = isContact ? 'account' : 'example'
        return ok({ event_name: name, via })
      }
      const printed = body?.channel_uuid
      const named = printed === undefined ? null : await channelForEvent(db, account.id, name, printed)
      const place = await caused(account, name, named)
      if (place.by === null) await recordExample(account.id, name, place.id)
      return ok({ event_name: name, channel_uuid: place.printed, via: place.by ?? ('example' as const) })
    }),
  ]
}
