import type { Sql, Tx } from '../../../platform/db/sql.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { phoneNumber } from '../../../platform/http/validation.ts'
import { parse, uuid } from '../../../platform/lib/id.ts'
import type { Seal } from '../../../platform/lib/secret.ts'
import { makeSigningSecret } from '../../../platform/lib/webhook-signature.ts'
import { assertOpen } from '../../accounts/ops.ts'
import { requireSubscribable } from '../../events/ops.ts'
import type { Contents } from '../../inbox/narrowing/ops.ts'
import { channelOf, channelOfNumber } from '../../msgapp/channels/ops.ts'
import { refusals as msgappRefusals } from '../../msgapp/refusals.ts'
import { numberWithChannel } from '../../numbers/ops.ts'
import { refusals } from '../refusals.ts'
import * as store from '../store.ts'
import { checkContents } from './check-contents.ts'
import {
  type HeadersRequest,
  headersAfter,
  openHeaders,
  type RequestHeader,
  sealHeaders,
  setsHeaders,
} from './request-headers.ts'

const day = 86_400
/** Seconds of each `time_period`; null: no limit. */
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

type Kind = ReturnType<typeof requireSubscribable>['kind']

/** Channels on which events of a kind occur. */
const channelsOf = new Map<Kind, { prefixes: readonly string[]; words: string }>([
  ['msgapp', { prefixes: ['WPN'], words: 'a channel of the messaging app (WPN…)' }],
  ['sms', { prefixes: ['SMS', 'DID'], words: 'an SMS channel (SMS…) or a virtual number (DID…)' }],
  ['call', { prefixes: ['SMS', 'DID'], words: 'a virtual number (DID…) or its SMS channel (SMS…)' }],
])

/** @throws the 400 Problem for a channel on which the event never occurs */
export const checkEventChannel = (name: string, kind: Kind, printed: string): void => {
  const able = channelsOf.get(kind)
  if (able && !able.prefixes.includes(printed.slice(0, 3)))
    throw refusals.eventNotOfChannel(name, printed.slice(0, 60), able.words)
}

/** Whether events of this name can carry a group. */
const hasGroups = (name: string): boolean => /^msgapp\.(?:message|group|conversation)\./.test(name)

/** The channel as the request names it, and the one that the requested events carry. */
type ResolvedChannel = { kind: store.ChannelKind; id: string; match: string }

/**
 * Finds a channel of an account by its printed id, whatever its kind.
 * @throws the 404 Problem
 */
export const channelBy = async (sql: Sql, account: string, printed: string, kind: Kind): Promise<ResolvedChannel> => {
  const isOfAny = kind === 'msgapp' || kind === 'account'
  if (isOfAny && parse('WPN', printed)) {
    const { id } = await channelOf(sql, account, printed)
    return { kind: 'WPN', id, match: id }
  }
  const [did, sms] = [parse('DID', printed), parse('SMS', printed)]
  if (!did && !sms) throw msgappRefusals.unknownChannel(printed)
  const numberRow =
    (await numberWithChannel(sql, account, did ? { did } : { sms: sms ?? '' })) ??
    refuse(msgappRefusals.unknownChannel(printed))
  const match = (kind === 'sms' ? numberRow.sms : numberRow.did) ?? refuse(msgappRefusals.unknownChannel(printed))
  return did ? { kind: 'DID', id: did, match } : { kind: 'SMS', id: sms ?? '', match }
}

const channelByNumber = async (sql: Sql, account: string, value: string, kind: Kind): Promise<ResolvedChannel> => {
  const number = phoneNumber(value)
  if (kind === 'msgapp') {
    const { id } = await channelOfNumber(sql, account, number)
    return { kind: 'WPN', id, match: id }
  }
  const numberRow = await numberWithChannel(sql, account, { number })
  if (!numberRow) throw refusals.numberWithoutEvents(number)
  if (kind !== 'sms') return { kind: 'DID', id: numberRow.did, match: numberRow.did }
  const id = numberRow.sms ?? refuse(refusals.numberWithoutEvents(number))
  return { kind: 'SMS', id, match: id }
}

export type SubscriptionRequest = HeadersRequest & {
  hook_url: string
  channel_uuid?: string
  waweb_uuid?: string
  on_number?: string
  to_group_uuid?: string
  time_period?: string
}

/** @returns null: every channel of the account */
const resolveChannel = async (
  sql: Sql,
  account: string,
  name: string,
  kind: Kind,
  request: SubscriptionRequest,
): Promise<ResolvedChannel | null> => {
  if (kind === 'account') return null
  const { channel_uuid, waweb_uuid } = request
  if (channel_uuid !== undefined && waweb_uuid !== undefined && channel_uuid !== waweb_uuid) {
    await channelOf(sql, account, waweb_uuid)
    throw refusals.differentChannels()
  }
  const printed = channel_uuid ?? waweb_uuid
  if (printed !== undefined) {
    checkEventChannel(name, kind, printed)
    return channelBy(sql, account, printed, kind)
  }
  if (request.on_number) return channelByNumber(sql, account, request.on_number, kind)
  if (name.includes('call.')) return null
  throw refusals.channelRequired(name)
}

/**
 * @param fault of the address, from `outbound.judge`.
 * @throws the 400 Problem for an address that must not be called
 */
export const checkAddress = (fault: string | null): void => {
  if (fault !== null) throw refusals.hookUrlRefused(fault)
}

/** Secrets that new webhooks of an address share with its others. */
export type SharedSecrets = { readonly secret: store.SealedSecret; readonly headers: readonly RequestHeader[] }

/** The account that subscribes, and the contents that the caller may see. */
type Subscriber = { readonly account: string; readonly contents: Contents }

/**
 * Returns the change of headers that a request makes; empty without one.
 * @param isMoved the address changes
 * @throws the 400 Problem
 */
export const changedHeaders = (
  seal: Seal,
  { id, sealed_headers: sealed }: store.WebhookRow,
  request: HeadersRequest,
  isMoved: boolean,
): { headers?: store.SealedHeaders | null } => {
  if (!setsHeaders(request) && (!isMoved || sealed === null)) return {}
  const stored = openHeaders(seal, id, sealed)
  return { headers: sealHeaders(seal, id, headersAfter(request, isMoved && sealed !== null ? null : stored)) }
}

/**
 * Subscribes to an event. If the same subscription exists, enables and returns it.
 * @param spelt the event's name as the request spells it
 * @param msgappName the configured alias of msgapp, if the request used it
 * @param fault why the address must not be called, checked before the transaction
 * @param shared signing secret of the new webhook, and its headers if the request gives none; null: a secret of its own
 * @throws the 400, 403, 404 or 422 Problem
 */
export const subscribe = async (
  tx: Tx,
  seal: Seal,
  caller: Subscriber,
  { spelt, msgappName }: { spelt: string; msgappName: string | null },
  request: SubscriptionRequest,
  fault: string | null,
  shared: SharedSecrets | null = null,
): Promise<{ row: store.WebhookRow; isNew: boolean; wasEnabled: boolean }> => {
  const { account, contents } = caller
  await assertOpen(tx, account)
  const { name, kind } = requireSubscribable(spelt)
  checkContents(name, contents)
  const chosen = await resolveChannel(tx, account, name, kind, request)
  if (request.to_group_uuid !== undefined && !hasGroups(name)) throw refusals.groupNotOfEvent(name)
  checkAddress(fault)
  const isConversation = name === 'msgapp.conversation.new'
  const period = isConversation ? (request.time_period ?? 'all-time') : null
  const id = uuid()
  const known = shared?.headers ?? []
  const webhook: store.NewWebhook = {
    account,
    id,
    headers: sealHeaders(seal, id, setsHeaders(request) ? headersAfter(request, known) : known),
    event: name,
    event_name: spelt,
    msgapp_name: msgappName,
    channel_kind: chosen?.kind ?? null,
    channel_id: chosen?.id ?? null,
    match: chosen?.match ?? null,
    hook_url: request.hook_url,
    to_group: request.to_group_uuid ?? null,
    time_period: period,
    quietSeconds: period === null ? null : (periods.get(period) ?? null),
    secret: shared?.secret ?? { sealed: seal.close(makeSigningSecret()), sealedPrevious: null, previousUntil: null },
  }
  const row = await store.add(tx, webhook)
  if (row) return { row, isNew: true, wasEnabled: false }
  const existing = await store.findSame(tx, webhook)
  if (!existing) return subscribe(tx, seal, caller, { spelt, msgappName }, request, fault, shared)
  const changed =
    existing.enabled && !setsHeaders(request)
      ? existing
      : await store.change(tx, account, existing.id, {
          ...{ url: null, enabled: true },
          ...changedHeaders(seal, existing, request, false),
        })
  return { row: changed ?? existing, isNew: false, wasEnabled: existing.enabled }
}
