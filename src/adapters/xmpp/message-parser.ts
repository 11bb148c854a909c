import { createHash } from 'node:crypto'
import { errorOf } from '@trunkline/xmpp/iq-requests.ts'
import { bareOf } from '@trunkline/xmpp/jid.ts'
import { ns } from '@trunkline/xmpp/namespaces.ts'
import { child, descendant, elements, textOf, type XmlElement } from '@trunkline/xmpp/xml.ts'
import type { ChatCall, ChatFailure, ChatInbound, ChatParty, ChatReceipt } from '../../ports/chat-message.ts'
import type { Addresses } from './addresses.ts'
import { readContents } from './contents.ts'
import { maxMessageIdLength } from './limits.ts'

/** Event parsed from a message between two people. */
export type ParsedEvent =
  /** @prop receipt the id that a receipt must name, when the sender requests one (XEP-0184) */
  | { readonly kind: 'inbound'; readonly message: ChatInbound; readonly receipt: string | null }
  | { readonly kind: 'receipt'; readonly receipt: ChatReceipt }
  | { readonly kind: 'failure'; readonly failure: ChatFailure }
  | { readonly kind: 'edited'; readonly edit: { id: string; text: string; at: number } }
  | {
      readonly kind: 'reaction'
      readonly reaction: { id: string; by: ChatParty; emoji: string | null; at: number; from: ChatParty }
    }
  | { readonly kind: 'call'; readonly call: ChatCall }

/** Prefix of our own message ids; it distinguishes them from those of others. */
const ownIdPrefix = 'tl-'
export const wireId = (id: string): string => `${ownIdPrefix}${id}`
export const isWireId = (id: string): boolean => id.startsWith(ownIdPrefix)

export const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 40)
const boundedId = (id: string): string => (id.length > maxMessageIdLength ? digest(id) : id)

/**
 * Id of a message of another sender: the sender's id, scoped by the sender. Corrections and reactions refer to it
 * (XEP-0308, XEP-0444). It is the same live, from the archive and after a retry of a server.
 */
export const inboundId = (from: string, id: string): string => boundedId(`${bareOf(from)}/${id}`)

/** The sender's own id of a message, from its id here; null if the sender did not write the message. */
export const idAtWriter = (from: string, id: string): string | null => {
  const start = `${bareOf(from)}/`
  return id.startsWith(start) ? id.slice(start.length) : null
}

/** Milliseconds of `stamp`; null when it is not a time. */
export const timeOf = (stamp: string | undefined): number | null => {
  const time = Date.parse(stamp ?? '')
  return Number.isNaN(time) ? null : time
}

/** Time of sending, never in the future. For delayed messages, the time given by a trusted holder (XEP-0203). */
export const sentAt = (message: XmlElement, keepers: readonly string[], now: number): number => {
  const delays = elements(message, 'delay', ns.delay).filter(({ attrs }) => keepers.includes(bareOf(attrs.from ?? '')))
  const times = delays.flatMap(({ attrs }) => timeOf(attrs.stamp) ?? [])
  return Math.min(now, ...times)
}

/** Resolves the message that an element of a later message refers to. */
const resolveTarget = (id: string, from: string, isKnown: (id: string) => boolean): string =>
  isWireId(id) || isKnown(id) ? boundedId(id) : inboundId(from, id)

/** Parses call signalling (XEP-0353). `finish` follows a conversation. The end of a call may come from either side. */
const callOf = (message: XmlElement, from: ChatParty, own: boolean, at: number): ChatCall | null => {
  const [signal] = elements(message, undefined, ns.jingleMessage)
  const id = signal?.attrs.id
  if (!signal || !id) return null
  const state = signal.name === 'propose' ? 'offered' : ['retract', 'finish', 'reject'].includes(signal.name) && 'ended'
  const video = elements(signal, 'description').some(({ attrs }) => attrs.media === 'video')
  const end = state === 'ended' ? { answered: signal.name === 'finish' } : {}
  return state ? { id: boundedId(id), from, own, group: null, video, at, state, ...end } : null
}

export type ParseContext = {
  readonly addresses: Addresses
  /** Time of sending, Unix milliseconds. */
  readonly at: number
  /** True when another device of our own account sent it (XEP-0280), or the archive says so. */
  readonly own: boolean
  /** True for the id of a message of ours. */
  readonly isKnown: (id: string) => boolean
  /** Id in our server's archive (XEP-0359), or null. */
  readonly archived: string | null
}

const parseFailure = (message: XmlElement, from: ChatParty, at: number): ParsedEvent[] => {
  const id = message.attrs.id ?? ''
  const { condition, reason } = errorOf(message)
  return isWireId(id) ? [{ kind: 'failure', failure: { id, code: condition, reason, at, from } }] : []
}

/** Parses receipts (XEP-0184) and markers (XEP-0333) for our messages. */
const parseReceipts = (message: XmlElement, from: ChatParty, at: number): ParsedEvent[] => {
  const received = child(message, 'received', ns.receipts) ?? child(message, 'received', ns.markers)
  const displayed = child(message, 'displayed', ns.markers) ?? child(message, 'acknowledged', ns.markers)
  const levels = [
    [received, 2],
    [displayed, 3],
  ] as const
  return levels.flatMap(([element, level]): ParsedEvent[] => {
    const id = element?.attrs.id
    return id ? [{ kind: 'receipt', receipt: { id: boundedId(id), level, at, by: null, from } }] : []
  })
}

/** Parses a message between two people into events; empty when it has no content. */
export const parseMessage = (
  message: XmlElement,
  { addresses, at, own, isKnown, archived }: ParseContext,
): ParsedEvent[] => {
  const { from = '', to = '', id, type } = message.attrs
  if (type === 'error')
    return own || !addresses.isUsable(from) ? [] : parseFailure(message, addresses.remoteOf(from), at)
  const other = own ? to : from
  if (!addresses.isUsable(other)) return []
  const nick = textOf(child(message, 'nick', 'http://jabber.org/protocol/nick')).slice(0, 100) || null
  const remote = addresses.remoteOf(other, own ? null : nick)
  const events: ParsedEvent[] = own ? [] : parseReceipts(message, remote, at)
  const call = callOf(message, remote, own, at)
  if (call) events.push({ kind: 'call', call })

  const contents = readContents(message)
  const replaced = child(message, 'replace', ns.correct)?.attrs.id
  const reactions = child(message, 'reactions', ns.reactions)
  if (reactions?.attrs.id) {
    const target = resolveTarget(reactions.attrs.id, other, isKnown)
    const [emoji = ''] = elements(reactions, 'reaction').map(textOf)
    if (!own)
      events.push({
        kind: 'reaction',
        reaction: { id: target, by: remote, emoji: emoji.slice(0, 40) || null, at, from: remote },
      })
    return events
  }
  if (child(message, 'retract', ns.retract)) return events
  if (!contents) return events
  if (replaced && contents.text !== null) {
    const target = own ? boundedId(replaced) : inboundId(other, replaced)
    events.push({ kind: 'edited', edit: { id: target, text: contents.text, at } })
    return events
  }
  const name = id ?? archived ?? digest(`${at} ${JSON.stringify(contents)}`)
  const quoted = child(message, 'reply', ns.reply)?.attrs.id
  const ours = {
    id: own ? boundedId(name) : inboundId(from, name),
    from: remote,
    group: null,
    at,
    own,
    ...contents,
    quoted: quoted ? resolveTarget(quoted, other, isKnown) : null,
  }
  const wants = !own && id !== undefined && child(message, 'request', ns.receipts) !== undefined
  events.push({ kind: 'inbound', message: ours, receipt: wants ? id : null })
  return events
}

/** The message inside a carbon copy (XEP-0280) or an archive result (XEP-0313). */
export const forwarded = (holder: XmlElement): { message: XmlElement; stamp: number | null } | null => {
  const message = descendant(holder, ns.forward, 'forwarded')
  const inner = message && child(message, 'message', '')
  if (!inner) return null
  return { message: inner, stamp: timeOf(message && child(message, 'delay', ns.delay)?.attrs.stamp) }
}
