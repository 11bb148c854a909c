import { numberForms } from '@trunkline/phone/number-forms.ts'
import { makeBatcher } from '../../../../platform/db/batcher.ts'
import type { Db, Tx } from '../../../../platform/db/sql.ts'
import { enqueueAll, type NewJob } from '../../../../platform/jobs/queue.ts'
import { iso } from '../../../../platform/lib/clock.ts'
import { uuid } from '../../../../platform/lib/id.ts'
import { storable, storableJson } from '../../../../platform/lib/storable.ts'
import type { ChatInbound, ChatParty } from '../../../../ports/chat-message.ts'
import { findBlocked } from '../../../contacts/blocking/ops.ts'
import { type ChannelRef, canonicalParty, type InboundHandlers } from '../../inbound-handlers.ts'
import { addUnfetched } from '../../media/store.ts'
import { jobKindOf } from '../../operations/requests.ts'
import { ackEvents, conversationEvent, type MessageEvent, publishEvents } from '../message-events.ts'
import type { ViewContextLoader } from '../message-presenter.ts'
import { groupPeer, peerOf, peerOfRemote } from '../peer.ts'
import { lockChannelsShared } from '../store.ts'
import { type CallDeps, receiveCall } from './call-events.ts'
import * as arrivals from './inbound-store.ts'
import { storableContent } from './storable-content.ts'

type InboundMessage = {
  readonly channelRef: ChannelRef
  /** With the canonical form of the number. */
  readonly message: ChatInbound
  /** The number as the network gave it, if it has several forms. */
  readonly dialled: string | null
}

const storableOr = (text: string | null): string | null => (text === null ? null : storable(text))

const nameOf = ({ media }: ChatInbound): string => storable(media?.name ?? '', 200)

const byKey = <R>(rows: readonly R[], key: (row: R) => string): Map<string, R> =>
  new Map(rows.map((row) => [key(row), row]))

/** Finds conversations by the network's ids; until the transaction ends no hidden number becomes known. */
const findConversations = async (tx: Tx, batch: readonly InboundMessage[]) => {
  const hidden = batch.filter(({ message }) => !message.group && message.from.number === null)
  if (hidden.length > 0)
    await arrivals.lockStrangersShared(tx, [...new Set(hidden.map(({ channelRef }) => channelRef.channel))])
  const remotes = batch
    .filter(({ message }) => !message.group)
    .map(({ channelRef, message }) => ({
      account: channelRef.account,
      channel: channelRef.channel,
      remote: message.from.remote,
    }))
  return byKey(
    remotes.length > 0 ? await arrivals.chatsByRemote(tx, remotes) : [],
    ({ channel_id, remote_id }) => `${channel_id} ${remote_id}`,
  )
}

/** Conversations whose number the network reports only now. */
const newlyNumbered = (batch: readonly InboundMessage[], chats: Awaited<ReturnType<typeof findConversations>>) =>
  batch.flatMap(({ channelRef, message: { from, group } }) => {
    const chat = group ? undefined : chats.get(`${channelRef.channel} ${from.remote}`)
    return chat && chat.number === null && from.number !== null
      ? [{ channelRef, remote: from.remote, number: from.number }]
      : []
  })

/** Finds each message's conversation and group. */
const assignConversations = async (
  tx: Tx,
  batch: readonly InboundMessage[],
  chats: Awaited<ReturnType<typeof findConversations>>,
): Promise<arrivals.InboundRow[]> => {
  const inGroups = batch.flatMap(({ channelRef, message: { group } }) =>
    group
      ? [
          {
            account: channelRef.account,
            channel: channelRef.channel,
            id: uuid(),
            networkId: group.id,
            name: storableOr(group.name),
          },
        ]
      : [],
  )
  const groups = byKey(
    inGroups.length > 0 ? await arrivals.findOrCreateGroups(tx, inGroups) : [],
    ({ channel_id, network_id }) => `${channel_id} ${network_id}`,
  )
  return batch.map(({ channelRef, message, dialled }) => {
    const { account, channel } = channelRef
    const { from, group, own } = message
    const inGroup = group ? groups.get(`${channel} ${group.id}`) : undefined
    const chat = group ? undefined : chats.get(`${channel} ${from.remote}`)
    const number = group ? null : (from.number ?? chat?.number ?? null)
    return {
      account,
      channel,
      id: uuid(),
      peer: inGroup ? groupPeer(inGroup.id, group?.id ?? null) : number === null ? from.remote : peerOf(number),
      networkId: message.id,
      isOwn: own,
      number,
      dialled: group ? null : dialled,
      remote: group ? null : from.remote,
      pushname: group || own ? null : storableOr(from.pushname),
      group: inGroup?.id ?? null,
      author: group && !own ? (from.number ?? from.remote) : null,
      text: storableOr(message.text),
      pin: message.pin ? storableJson(message.pin) : null,
      content: storableContent(message),
      media: message.media ? uuid() : null,
      at: message.at,
      isBlocked: false,
    }
  })
}

/** Marks the messages of blocked contacts. In groups they are as those of others. Their files are not downloaded. */
const markBlocked = async (tx: Tx, placed: readonly arrivals.InboundRow[]): Promise<arrivals.InboundRow[]> => {
  const personal = placed.flatMap(({ account, number, isOwn, group }) =>
    isOwn || group !== null || number === null ? [] : [{ account, number }],
  )
  const isBlocked = await findBlocked(tx, personal)
  return placed.map((row) =>
    !row.isOwn && row.group === null && row.number !== null && isBlocked(row.account, row.number)
      ? { ...row, isBlocked: true, media: null }
      : row,
  )
}

/** Events of a new message. */
const eventsOf = ({ account, id: message, isOwn, group }: arrivals.InboundRow): MessageEvent[] => {
  const names = isOwn
    ? (['msgapp.message.new', 'msgapp.message.sent', 'msgapp.message.receipt.sent'] as const)
    : group
      ? (['msgapp.message.new', 'msgapp.group.message.received'] as const)
      : (['msgapp.message.new', 'msgapp.message.received'] as const)
  return names.map((name) => ({ account, message, name, ...(isOwn ? { ack: 1 } : {}) }))
}

/** Stores references to files on the network, and requests them. */
const storeFiles = async (tx: Tx, inserted: readonly (arrivals.InboundRow & InboundMessage)[]): Promise<void> => {
  const files = inserted.flatMap(({ media: id, message, channelRef }) => {
    const { media } = message
    return id && media ? [{ id, channelRef, media, name: nameOf(message) }] : []
  })
  if (files.length === 0) return
  await addUnfetched(
    tx,
    files.map(({ id, channelRef, media, name }) => ({
      account: channelRef.account,
      id,
      channel: channelRef.channel,
      type: media.type,
      mimeType: storable(media.mimeType ?? 'application/octet-stream'),
      name,
      size: media.size,
      source: JSON.stringify(media.ref),
    })),
  )
  for (const [connection, of] of Map.groupBy(files, ({ channelRef }) => channelRef.connection))
    await enqueueAll(
      tx,
      jobKindOf(connection),
      of.map(
        ({ id, channelRef }): NewJob => ({
          payload: { act: 'fetch', channel: channelRef.channel, media: id },
          account: channelRef.account,
        }),
      ),
    )
}

const storeMessages = async (
  tx: Tx,
  loadViewContext: ViewContextLoader,
  batch: readonly InboundMessage[],
  chats: Awaited<ReturnType<typeof findConversations>>,
): Promise<void> => {
  const own = batch.filter(({ message }) => message.own)
  if (own.length > 0) await lockChannelsShared(tx, [...new Set(own.map(({ channelRef }) => channelRef.channel))])
  const placed = await markBlocked(tx, await assignConversations(tx, batch, chats))
  const added = new Set((await arrivals.insertNew(tx, placed)).map(({ id }) => id))
  const inserted = placed.flatMap((arrival, i) => {
    const one = batch[i]
    return one && added.has(arrival.id) && !arrival.isBlocked ? [{ ...arrival, ...one }] : []
  })
  if (inserted.length === 0) return
  const touched = byKey(await arrivals.addToChats(tx, inserted), ({ channel_id, peer }) => `${channel_id} ${peer}`)
  await storeFiles(tx, inserted)
  const sent = inserted.filter(({ isOwn }) => isOwn)
  const risen = new Map(
    (sent.length > 0 ? await arrivals.applyEarlyReceipts(tx, sent) : []).map(({ id, ack }) => [id, ack]),
  )
  const events: MessageEvent[] = []
  for (const arrival of inserted) {
    const key = `${arrival.channel} ${arrival.peer}`
    const chat = touched.get(key)
    touched.delete(key)
    if (chat?.quiet) events.push(conversationEvent(arrival.account, arrival.id, chat.previous_at))
    events.push(...eventsOf(arrival), ...ackEvents(arrival.account, arrival.id, 1, risen.get(arrival.id) ?? 1))
  }
  await publishEvents(tx, loadViewContext, events)
}

/**
 * Stores messages, and publishes them. A number that became known with one of them is stored first, in a transaction
 * of its own. Messages are inserted before their conversations, and a holder of a conversation must not wait for a
 * message.
 */
const receive = async (db: Db, loadViewContext: ViewContextLoader, batch: readonly InboundMessage[]): Promise<void> => {
  const strangers = await db.begin(async (tx) => {
    const chats = await findConversations(tx, batch)
    const known = newlyNumbered(batch, chats)
    if (known.length === 0) await storeMessages(tx, loadViewContext, batch, chats)
    return known
  })
  if (strangers.length === 0) return
  for (const { channelRef, remote, number } of strangers)
    await db.begin((tx) => arrivals.moveToNumber(tx, channelRef, { remote, number, peer: peerOf(number) }))
  await db.begin(async (tx) => storeMessages(tx, loadViewContext, batch, await findConversations(tx, batch)))
}

const keyOf = ({ number, remote }: ChatParty): string => number ?? remote

/** Handles inbound events; messages are batched, many to a transaction with their events. */
export const makeInboundMessages = (
  parts: CallDeps & { readonly loadViewContext: ViewContextLoader },
): Pick<InboundHandlers, 'inbound' | 'edited' | 'reaction' | 'call' | 'mapped' | 'renamed'> => {
  const { db, loadViewContext } = parts
  const batcher = makeBatcher<InboundMessage, true>(
    async (batch) => {
      await receive(db, loadViewContext, batch)
      return batch.map(() => true)
    },
    { spacingMs: 5 },
  )
  return {
    inbound: async (channelRef, message) => {
      const { number } = message.from
      const dialled = number !== null && numberForms(number).length > 1 ? number : null
      await batcher.add({ channelRef, message: { ...message, from: canonicalParty(message.from) }, dialled })
    },
    edited: (channelRef, edit) =>
      db.begin(async (tx) => {
        const row = await arrivals.storeEdit(tx, channelRef.channel, { ...edit, text: storable(edit.text) })
        if (!row || row.is_blocked) return
        const more = { edited: true, ...(row.previous === null ? {} : { previous_text: row.previous }) }
        await publishEvents(tx, loadViewContext, [
          { account: row.account_id, message: row.id, name: 'msgapp.message.edited', more },
        ])
      }),
    reaction: (channelRef, { id, by, emoji, at, from }) =>
      db.begin(async (tx) => {
        const row = await arrivals.storeReaction(tx, channelRef.channel, {
          id,
          by: keyOf(by),
          emoji: storableOr(emoji),
          at,
          peer: from ? peerOfRemote(from) : null,
        })
        const more = { reaction: emoji ?? '', reaction_by: keyOf(by), reacted_at: iso(at) }
        if (!row) return
        const names = row.is_in_group
          ? (['msgapp.message.reaction', 'msgapp.group.message.reaction'] as const)
          : (['msgapp.message.reaction'] as const)
        await publishEvents(
          tx,
          loadViewContext,
          names.map((name) => ({ account: row.account_id, message: row.id, name, more })),
        )
      }),
    call: (channelRef, call) => db.begin((tx) => receiveCall(tx, parts, channelRef, call)),
    mapped: (channelRef, remote, number) =>
      db.begin((tx) => arrivals.moveToNumber(tx, channelRef, { remote, number, peer: peerOf(number) })),
    renamed: (channelRef, before, number) =>
      db.begin((tx) =>
        arrivals.moveToNewNumber(tx, channelRef, { before: peerOf(before), number, peer: peerOf(number) }),
      ),
  }
}
