import { createHash } from 'node:crypto'
import type { ChatCall, ChatFailure, ChatInbound, ChatReceipt, ChatRemote } from '../message-port.ts'
import type { Addresses } from './addresses.ts'
import { bareOf } from './codec/jid.ts'
import { ns } from './codec/names.ts'
import { child, elements, textOf, within, type Xml } from './codec/xml.ts'
import { readContents } from './contents.ts'
import { errorOf } from './requests.ts'

/** What a message between two people tells. */
export type Told =
  /** @prop receipt the id that a receipt names, when the writer wants one (XEP-0184) */
  | { readonly what: 'inbound'; readonly message: ChatInbound; readonly receipt: string | null }
  | { readonly what: 'receipt'; readonly receipt: ChatReceipt }
  | { readonly what: 'failure'; readonly failure: ChatFailure }
  | { readonly what: 'edited'; readonly edit: { id: string; text: string; at: number } }
  | {
      readonly what: 'reaction'
      readonly reaction: { id: string; by: ChatRemote; emoji: string | null; at: number; from: ChatRemote }
    }
  | { readonly what: 'call'; readonly call: ChatCall }

/** Our own messages bear ids that nobody mistakes for somebody else's. */
const mark = 'tl-'
export const wireId = (id: string): string => `${mark}${id}`
export const isWireId = (id: string): boolean => id.startsWith(mark)

/** Ids go into an index. Those that are too long, or none, are told by a digest. */
const longestId = 200
export const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 40)
const boundedId = (id: string): string => (id.length > longestId ? digest(id) : id)

/**
 * The id of a message that somebody wrote: the writer's own id, within the writer. Corrections and reactions name messages by
 * it (XEP-0308, XEP-0444), and it stays the same live, from the archive and after a server's retry.
 */
export const inboundId = (from: string, id: string): string => boundedId(`${bareOf(from)}/${id}`)

/** What the writer calls a message, of its id here; null for what is not the writer's. */
export const idAtWriter = (from: string, id: string): string | null => {
  const start = `${bareOf(from)}/`
  return id.startsWith(start) ? id.slice(start.length) : null
}

/** Milliseconds of `stamp`; null for what is no time. */
export const timeOf = (stamp: string | undefined): number | null => {
  const time = Date.parse(stamp ?? '')
  return Number.isNaN(time) ? null : time
}

/** When it was sent: of late ones as who kept them says (XEP-0203), never in the future. */
export const sentAt = (message: Xml, keepers: readonly string[], now: number): number => {
  const delays = elements(message, 'delay', ns.delay).filter(({ attrs }) => keepers.includes(bareOf(attrs.from ?? '')))
  const times = delays.flatMap(({ attrs }) => timeOf(attrs.stamp) ?? [])
  return Math.min(now, ...times)
}

/** What the message is called that an element of a later one names. */
const named = (id: string, from: string, isKnown: (id: string) => boolean): string =>
  isWireId(id) || isKnown(id) ? boundedId(id) : inboundId(from, id)

/** What is signalled of a call (XEP-0353): `finish` comes after they talked. An end names a call that either side made. */
const callOf = (message: Xml, from: ChatRemote, own: boolean, at: number): ChatCall | null => {
  const [signal] = elements(message, undefined, ns.jingleMessage)
  const id = signal?.attrs.id
  if (!signal || !id) return null
  const state = signal.name === 'propose' ? 'offered' : ['retract', 'finish', 'reject'].includes(signal.name) && 'ended'
  const video = elements(signal, 'description').some(({ attrs }) => attrs.media === 'video')
  const end = state === 'ended' ? { answered: signal.name === 'finish' } : {}
  return state ? { id: boundedId(id), from, own, group: null, video, at, state, ...end } : null
}

export type Reading = {
  readonly addresses: Addresses
  /** When it was sent, Unix milliseconds. */
  readonly at: number
  /** Sent from our own account by another device (XEP-0280), or found so in the archive. */
  readonly own: boolean
  /** A message of this id is ours. */
  readonly isKnown: (id: string) => boolean
  /** What our server's archive calls it; null where there is none (XEP-0359). */
  readonly archived: string | null
}

const readFailure = (message: Xml, from: ChatRemote, at: number): Told[] => {
  const id = message.attrs.id ?? ''
  const { condition, reason } = errorOf(message)
  return isWireId(id) ? [{ what: 'failure', failure: { id, code: condition, reason, at, from } }] : []
}

/** Receipts (XEP-0184) and markers (XEP-0333) of what we wrote. */
const readReceipts = (message: Xml, from: ChatRemote, at: number): Told[] => {
  const received = child(message, 'received', ns.receipts) ?? child(message, 'received', ns.markers)
  const displayed = child(message, 'displayed', ns.markers) ?? child(message, 'acknowledged', ns.markers)
  const levels = [
    [received, 2],
    [displayed, 3],
  ] as const
  return levels.flatMap(([element, level]) => {
    const id = element?.attrs.id
    return id ? [{ what: 'receipt', receipt: { id: boundedId(id), level, at, by: null, from } }] : []
  })
}

/** What a message between two people tells; nothing for what says nothing. */
export const readMessage = (message: Xml, { addresses, at, own, isKnown, archived }: Reading): Told[] => {
  const { from = '', to = '', id, type } = message.attrs
  if (type === 'error')
    return own || !addresses.isUsable(from) ? [] : readFailure(message, addresses.remoteOf(from), at)
  const other = own ? to : from
  if (!addresses.isUsable(other)) return []
  const nick = textOf(child(message, 'nick', 'http://jabber.org/protocol/nick')).slice(0, 100) || null
  const remote = addresses.remoteOf(other, own ? null : nick)
  const told: Told[] = own ? [] : readReceipts(message, remote, at)
  const call = callOf(message, remote, own, at)
  if (call) told.push({ what: 'call', call })

  const contents = readContents(message)
  const replaced = child(message, 'replace', ns.correct)?.attrs.id
  const reactions = child(message, 'reactions', ns.reactions)
  if (reactions?.attrs.id) {
    const target = named(reactions.attrs.id, other, isKnown)
    const [emoji = ''] = elements(reactions, 'reaction').map(textOf)
    if (!own)
      told.push({
        what: 'reaction',
        reaction: { id: target, by: remote, emoji: emoji.slice(0, 40) || null, at, from: remote },
      })
    return told
  }
  if (child(message, 'retract', ns.retract)) return told
  if (!contents) return told
  if (replaced && contents.text !== null) {
    const target = own ? boundedId(replaced) : inboundId(other, replaced)
    told.push({ what: 'edited', edit: { id: target, text: contents.text, at } })
    return told
  }
  const name = id ?? archived ?? digest(`${at} ${JSON.stringify(contents)}`)
  const ours = {
    id: own ? boundedId(name) : inboundId(from, name),
    from: remote,
    group: null,
    at,
    own,
    ...contents,
  }
  const wants = !own && id !== undefined && child(message, 'request', ns.receipts) !== undefined
  told.push({ what: 'inbound', message: ours, receipt: wants ? id : null })
  return told
}

/** A message inside another one: a carbon copy (XEP-0280), or a result of the archive (XEP-0313). */
export const forwarded = (holder: Xml): { message: Xml; stamp: number | null } | null => {
  const message = within(holder, ns.forward, 'forwarded')
  const inner = message && child(message, 'message', '')
  if (!inner) return null
  return { message: inner, stamp: timeOf(message && child(message, 'delay', ns.delay)?.attrs.stamp) }
}
