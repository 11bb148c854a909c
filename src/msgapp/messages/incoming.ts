import type { ChatInbound, ChatRemote } from '../../connectors/message-port.ts'
import { makeBatcher } from '../../db/batch.ts'
import type { Db, Tx } from '../../db/sql.ts'
import { enqueueAll, type NewJob } from '../../jobs/queue.ts'
import { iso } from '../../lib/clock.ts'
import { uuid } from '../../lib/id.ts'
import { kindOf } from '../asking.ts'
import type { Intake, Line } from '../intake.ts'
import { storable } from '../text.ts'
import * as arrivals from './arrivals.ts'
import { type CallParts, receiveCall } from './calls.ts'
import { groupPeer, peerOf, peerOfRemote } from './peer.ts'
import type { Surroundings } from './shown.ts'
import { amongSettlers } from './store.ts'
import { begun, steps, type Told, tell } from './told.ts'

type Arrived = { readonly line: Line; readonly message: ChatInbound }

const storableOr = (text: string | null): string | null => (text === null ? null : storable(text))

const nameOf = ({ media }: ChatInbound): string => storable(media?.name ?? '').slice(0, 200)

/** JSON whose texts PostgreSQL can keep. */
const jsonOf = (value: object): string =>
  JSON.stringify(value, (_key, part: unknown) => (typeof part === 'string' ? storable(part) : part))

const byKey = <R>(rows: readonly R[], key: (row: R) => string): Map<string, R> =>
  new Map(rows.map((row) => [key(row), row]))

/** Conversations by what networks call who they are with; until the transaction ends no number becomes known of who hides it. */
const chatsOf = async (tx: Tx, given: readonly Arrived[]) => {
  const hidden = given.filter(({ message }) => !message.group && message.from.number === null)
  if (hidden.length > 0) await arrivals.amongStrangers(tx, [...new Set(hidden.map(({ line }) => line.channel))])
  const remotes = given
    .filter(({ message }) => !message.group)
    .map(({ line, message }) => ({ account: line.account, channel: line.channel, remote: message.from.remote }))
  return byKey(
    remotes.length > 0 ? await arrivals.chatsByRemote(tx, remotes) : [],
    ({ channel_id, remote_id }) => `${channel_id} ${remote_id}`,
  )
}

/** Conversations with those whose number the network tells only now. */
const introduced = (given: readonly Arrived[], chats: Awaited<ReturnType<typeof chatsOf>>) =>
  given.flatMap(({ line, message: { from, group } }) => {
    const chat = group ? undefined : chats.get(`${line.channel} ${from.remote}`)
    return chat && chat.number === null && from.number !== null
      ? [{ line, remote: from.remote, number: from.number }]
      : []
  })

/** Where each message belongs: its conversation, and its group. */
const place = async (
  tx: Tx,
  given: readonly Arrived[],
  chats: Awaited<ReturnType<typeof chatsOf>>,
): Promise<arrivals.Arrival[]> => {
  const inGroups = given.flatMap(({ line, message: { group } }) =>
    group
      ? [
          {
            account: line.account,
            channel: line.channel,
            id: uuid(),
            networkId: group.id,
            name: storableOr(group.name),
          },
        ]
      : [],
  )
  const groups = byKey(
    inGroups.length > 0 ? await arrivals.groups(tx, inGroups) : [],
    ({ channel_id, network_id }) => `${channel_id} ${network_id}`,
  )
  return given.map(({ line, message }) => {
    const { account, channel } = line
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
      remote: group ? null : from.remote,
      pushname: group || own ? null : storableOr(from.pushname),
      group: inGroup?.id ?? null,
      author: group && !own ? (from.number ?? from.remote) : null,
      text: storableOr(message.text),
      pin: message.pin ? jsonOf(message.pin) : null,
      media: message.media ? uuid() : null,
      at: message.at,
    }
  })
}

/** What is told of a new message. */
const toldOf = ({ account, id: message, isOwn, group }: arrivals.Arrival): Told[] => {
  const names = isOwn
    ? (['msgapp.message.new', 'msgapp.message.sent', 'msgapp.message.receipt.sent'] as const)
    : group
      ? (['msgapp.message.new', 'msgapp.group.message.received'] as const)
      : (['msgapp.message.new', 'msgapp.message.received'] as const)
  return names.map((name) => ({ account, message, name, ...(isOwn ? { ack: 1 } : {}) }))
}

/** Keeps the files that are still with the network, and asks for them. */
const keepFiles = async (tx: Tx, fresh: readonly (arrivals.Arrival & Arrived)[]): Promise<void> => {
  const files = fresh.flatMap(({ media: id, message, line }) => {
    const { media } = message
    return id && media ? [{ id, line, media, name: nameOf(message) }] : []
  })
  if (files.length === 0) return
  await arrivals.addFiles(
    tx,
    files.map(({ id, line, media, name }) => ({
      account: line.account,
      id,
      channel: line.channel,
      type: media.type,
      mimeType: storable(media.mimeType ?? 'application/octet-stream'),
      name,
      size: media.size,
      source: JSON.stringify(media.ref),
    })),
  )
  for (const [connection, of] of Map.groupBy(files, ({ line }) => line.connection))
    await enqueueAll(
      tx,
      kindOf(connection),
      of.map(
        ({ id, line }): NewJob => ({
          payload: { act: 'fetch', channel: line.channel, media: id },
          account: line.account,
        }),
      ),
    )
}

const keep = async (
  tx: Tx,
  surroundings: Surroundings,
  given: readonly Arrived[],
  chats: Awaited<ReturnType<typeof chatsOf>>,
): Promise<void> => {
  const own = given.filter(({ message }) => message.own)
  if (own.length > 0) await amongSettlers(tx, [...new Set(own.map(({ line }) => line.channel))])
  const placed = await place(tx, given, chats)
  const added = new Set((await arrivals.add(tx, placed)).map(({ id }) => id))
  const fresh = placed.flatMap((arrival, i) => {
    const one = given[i]
    return one && added.has(arrival.id) ? [{ ...arrival, ...one }] : []
  })
  if (fresh.length === 0) return
  const touched = byKey(await arrivals.addToChats(tx, fresh), ({ channel_id, peer }) => `${channel_id} ${peer}`)
  await keepFiles(tx, fresh)
  const sent = fresh.filter(({ isOwn }) => isOwn)
  const risen = new Map((sent.length > 0 ? await arrivals.takeEarly(tx, sent) : []).map(({ id, ack }) => [id, ack]))
  const told: Told[] = []
  for (const arrival of fresh) {
    const key = `${arrival.channel} ${arrival.peer}`
    const chat = touched.get(key)
    touched.delete(key)
    if (chat?.quiet) told.push(begun(arrival.account, arrival.id, chat.previous_at))
    told.push(...toldOf(arrival), ...steps(arrival.account, arrival.id, 1, risen.get(arrival.id) ?? 1))
  }
  await tell(tx, surroundings, told)
}

/**
 * Keeps messages, and tells of them. A number that became known with one of them is written first, each in a transaction of its
 * own: messages are taken in before their conversations, and who holds a conversation meanwhile must not wait for a message.
 */
const receive = async (db: Db, surroundings: Surroundings, given: readonly Arrived[]): Promise<void> => {
  const strangers = await db.begin(async (tx) => {
    const chats = await chatsOf(tx, given)
    const known = introduced(given, chats)
    if (known.length === 0) await keep(tx, surroundings, given, chats)
    return known
  })
  if (strangers.length === 0) return
  for (const { line, remote, number } of strangers)
    await db.begin((tx) => arrivals.mapped(tx, line, { remote, number, peer: peerOf(number) }))
  await db.begin(async (tx) => keep(tx, surroundings, given, await chatsOf(tx, given)))
}

const keyOf = ({ number, remote }: ChatRemote): string => number ?? remote

/** Takes in what networks bring: messages many to a transaction, each with what is told of it. */
export const makeIncoming = (
  parts: CallParts & { readonly surroundings: Surroundings },
): Pick<Intake, 'inbound' | 'edited' | 'reaction' | 'call' | 'mapped' | 'renamed'> => {
  const { db, surroundings } = parts
  const batcher = makeBatcher<Arrived, true>(async (given) => {
    await receive(db, surroundings, given)
    return given.map(() => true)
  })
  return {
    inbound: async (line, message) => {
      await batcher.add({ line, message })
    },
    edited: (line, edit) =>
      db.begin(async (tx) => {
        const row = await arrivals.edit(tx, line.channel, { ...edit, text: storable(edit.text) })
        if (!row) return
        const more = { edited: true, ...(row.previous === null ? {} : { previous_text: row.previous }) }
        await tell(tx, surroundings, [
          { account: row.account_id, message: row.id, name: 'msgapp.message.edited', more },
        ])
      }),
    reaction: (line, { id, by, emoji, at, from }) =>
      db.begin(async (tx) => {
        const row = await arrivals.react(tx, line.channel, {
          id,
          by: keyOf(by),
          emoji: storableOr(emoji),
          at,
          peer: from ? peerOfRemote(from) : null,
        })
        const more = { reaction: emoji ?? '', reaction_by: keyOf(by), reacted_at: iso(at) }
        if (row)
          await tell(tx, surroundings, [
            { account: row.account_id, message: row.id, name: 'msgapp.message.reaction', more },
          ])
      }),
    call: (line, call) => db.begin((tx) => receiveCall(tx, parts, line, call)),
    mapped: (line, remote, number) =>
      db.begin((tx) => arrivals.mapped(tx, line, { remote, number, peer: peerOf(number) })),
    renamed: (line, before, number) =>
      db.begin((tx) => arrivals.renamed(tx, line, { before: peerOf(before), number, peer: peerOf(number) })),
  }
}
