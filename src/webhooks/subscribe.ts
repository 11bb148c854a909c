import type { Sql, Tx } from '../db/sql.ts'
import { eventBy } from '../events/ops.ts'
import { invalid, notFound } from '../http/problem.ts'
import { phoneNumber } from '../http/validation.ts'
import { parse, uuid } from '../lib/id.ts'
import type { Seal } from '../lib/secret.ts'
import { makeSecret } from '../lib/signature.ts'
import { channelOf, channelOfNumber } from '../msgapp/channels/ops.ts'
import { lineOf } from '../numbers/ops.ts'
import * as store from './store.ts'

const day = 86_400
/** Seconds of each `time_period`; ever is none. */
const periods = new Map<string, number | null>(
  Object.entries({
    'all-time': null,
    hour: 3_600,
    day,
    week: 7 * day,
    month: 30 * day,
    year: 365 * day,
  }),
)

type Kind = ReturnType<typeof eventBy>['kind']

/** Channels that can fire the events of a kind. */
const channelsOf = new Map<Kind, { prefixes: readonly string[]; words: string }>([
  ['msgapp', { prefixes: ['WPN'], words: 'a channel of the messaging app (WPN…)' }],
  ['sms', { prefixes: ['SMS', 'DID'], words: 'an SMS channel (SMS…) or a virtual number (DID…)' }],
  ['call', { prefixes: ['SMS', 'DID'], words: 'a virtual number (DID…) or its SMS channel (SMS…)' }],
])

/** @throws the 400 Problem for a channel on which the event never happens */
const checkPair = (name: string, kind: Kind, printed: string): void => {
  const able = channelsOf.get(kind)
  if (able && !able.prefixes.includes(printed.slice(0, 3)))
    invalid(
      `${name} never happens on ${printed.slice(0, 60)}: channel_uuid must be ${able.words}`,
      'event_not_of_channel',
    )
}

/** Events that have a group. */
const isOfGroups = (name: string): boolean => /^msgapp\.(?:message|group|conversation)\./.test(name)

/** A channel as it was named, and the one on which the events happen that were asked for. */
type Chosen = { kind: store.ChannelKind; id: string; match: string }

/** The channel of an account by its printed id, whatever its kind. @throws the 404 Problem */
export const channelBy = async (sql: Sql, account: string, printed: string, kind: Kind): Promise<Chosen> => {
  const unknown = () => notFound(`Channel ${printed} does not exist`)
  const isOfAny = kind === 'msgapp' || kind === 'account'
  if (isOfAny && parse('WPN', printed)) {
    const { id } = await channelOf(sql, account, printed)
    return { kind: 'WPN', id, match: id }
  }
  const [did, sms] = [parse('DID', printed), parse('SMS', printed)]
  if (!did && !sms) return unknown()
  const line = (await lineOf(sql, account, did ? { did } : { sms: sms ?? '' })) ?? unknown()
  const match = (kind === 'sms' ? line.sms : line.did) ?? unknown()
  return did ? { kind: 'DID', id: did, match } : { kind: 'SMS', id: sms ?? '', match }
}

const channelByNumber = async (sql: Sql, account: string, given: string, kind: Kind): Promise<Chosen> => {
  const number = phoneNumber(given)
  if (kind === 'msgapp') {
    const { id } = await channelOfNumber(sql, account, number)
    return { kind: 'WPN', id, match: id }
  }
  const line = await lineOf(sql, account, { number })
  const unknown = `${number} is no number of the account with these events`
  if (!line) return notFound(unknown)
  if (kind !== 'sms') return { kind: 'DID', id: line.did, match: line.did }
  const id = line.sms ?? notFound(unknown)
  return { kind: 'SMS', id, match: id }
}

export type Wish = {
  hook_url: string
  channel_uuid?: string
  waweb_uuid?: string
  on_number?: string
  to_group_uuid?: string
  time_period?: string
}

/** @returns null: every channel of the account */
const choose = async (sql: Sql, account: string, name: string, kind: Kind, wish: Wish): Promise<Chosen | null> => {
  if (kind === 'account') return null
  const { channel_uuid, waweb_uuid } = wish
  if (channel_uuid !== undefined && waweb_uuid !== undefined && channel_uuid !== waweb_uuid) {
    await channelOf(sql, account, waweb_uuid)
    invalid('channel_uuid and waweb_uuid name two channels: give one of them')
  }
  const printed = channel_uuid ?? waweb_uuid
  if (printed !== undefined) {
    checkPair(name, kind, printed)
    return channelBy(sql, account, printed, kind)
  }
  if (wish.on_number) return channelByNumber(sql, account, wish.on_number, kind)
  if (name.includes('call.')) return null
  return invalid(`channel_uuid or on_number is required: ${name} happens on a channel`)
}

/** @param fault of the address, as `outbound.judge` says. @throws the 400 Problem for one that must not be called */
export const admitAddress = (fault: string | null): void => {
  if (fault !== null) invalid(`hook_url ${fault}`, 'hook_url_refused')
}

/**
 * Subscribes; the same subscription again is the one that is there, enabled.
 * @param spelt the event's name as asked for
 * @param msgappName the second spelling of msgapp, when it was asked for in that one
 * @param fault why its address must not be called, judged before the transaction
 * @throws the 400, 404 or 422 Problem
 */
export const subscribe = async (
  tx: Tx,
  seal: Seal,
  account: string,
  { spelt, msgappName }: { spelt: string; msgappName: string | null },
  wish: Wish,
  fault: string | null,
): Promise<{ row: store.WebhookRow; isNew: boolean; wasEnabled: boolean }> => {
  const { name, kind } = eventBy(spelt)
  const chosen = await choose(tx, account, name, kind, wish)
  if (wish.to_group_uuid !== undefined && !isOfGroups(name))
    invalid(`to_group_uuid goes with events of messages and groups, not with ${name}: leave it out`)
  admitAddress(fault)
  const isConversation = name === 'msgapp.conversation.new'
  const period = isConversation ? (wish.time_period ?? 'all-time') : null
  const made: store.NewWebhook = {
    account,
    id: uuid(),
    event: name,
    event_name: spelt,
    msgapp_name: msgappName,
    channel_kind: chosen?.kind ?? null,
    channel_id: chosen?.id ?? null,
    match: chosen?.match ?? null,
    hook_url: wish.hook_url,
    to_group: wish.to_group_uuid ?? null,
    time_period: period,
    quietSeconds: period === null ? null : (periods.get(period) ?? null),
    sealedSecret: seal.close(makeSecret()),
  }
  const row = await store.add(tx, made)
  if (row) return { row, isNew: true, wasEnabled: false }
  const there = await store.same(tx, made)
  if (!there) return subscribe(tx, seal, account, { spelt, msgappName }, wish, fault)
  const enabled = there.enabled ? there : await store.change(tx, account, there.id, { url: null, enabled: true })
  return { row: enabled ?? there, isNew: false, wasEnabled: there.enabled }
}
