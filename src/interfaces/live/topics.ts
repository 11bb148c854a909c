import { bitOf, type Capability } from '../../platform/http/capability.ts'
import { parse } from '../../platform/lib/id.ts'
import type { LiveTopic } from './contract.ts'

/** A topic that a page follows. `id`: bare id of the webhook or conversation, for a topic of one of them. */
export type Topic = {
  readonly name: LiveTopic
  readonly kind: 'plain' | 'webhook' | 'conversation'
  readonly id: string
}

/** Capabilities of which one is needed for a topic. */
const needs = new Map<string, readonly Capability[]>([
  ['inbox', ['inbox']],
  ['calls', ['inbox', 'read_only']],
  ['numbers', ['read_only', 'numbers']],
  ['webhooks', ['develop']],
  ['webhook', ['develop']],
  ['conversation', ['inbox']],
  ['money', ['money']],
  ['team', ['inbox', 'people']],
])

/** Topics of which pages of an operator in an account are recorded: they show texts. */
export const showsTexts = (name: LiveTopic): boolean => name === 'inbox' || name.startsWith('conversation:')

const isPlain = (text: string): text is Exclude<LiveTopic, `${string}:${string}`> =>
  !['webhook', 'conversation'].includes(text) && needs.has(text)

/** Parses a topic; null for any other text. */
export const parseTopic = (text: string): Topic | null => {
  if (isPlain(text)) return { name: text, kind: 'plain', id: '' }
  const webhook = text.startsWith('webhook:') ? parse('WHK', text.slice(8)) : null
  if (webhook) return { name: `webhook:WHK${webhook}`, kind: 'webhook', id: webhook }
  const conversation = text.startsWith('conversation:') ? parse('CNV', text.slice(13)) : null
  return conversation ? { name: `conversation:CNV${conversation}`, kind: 'conversation', id: conversation } : null
}

/** True if a key or session with these scopes may follow the topic. */
export const mayFollow = ({ name, kind }: Topic, scopes: number): boolean =>
  (needs.get(kind === 'plain' ? name : kind) ?? []).some((one) => (scopes & bitOf(one)) !== 0)

/** An event of the log, as a feed hands it to sockets. */
export type FeedEvent = { readonly id: string; readonly name: string; readonly payload: string }

/** Topics of an event by the beginning of its name. The first match counts. */
const topicsByName: readonly (readonly [string, readonly LiveTopic[]])[] = [
  ['msgapp.call.', ['calls', 'inbox']],
  ['msgapp.number.', ['numbers']],
  ['msgapp.', ['inbox']],
  ['sms.', ['inbox']],
  ['contact.', ['inbox']],
  ['conversation.', ['inbox']],
  ['call.', ['calls']],
  ['number.', ['numbers']],
  ['balance.', ['money']],
  ['member.', ['team']],
]

/** The conversation that an event of the inbox names. Quotes within texts are escaped, so that no text matches. */
const namedConversation = /"(?:conversation_uuid|uuid)":\s*"CNV([0-9a-f-]{36})"/

/** Returns the conversation of an event of the inbox, without prefix; null for other events. */
export const conversationOf = ({ name, payload }: Pick<FeedEvent, 'name' | 'payload'>): string | null =>
  name.startsWith('conversation.') ? (namedConversation.exec(payload)?.[1] ?? null) : null

/** Returns the topics that an event of the log belongs to. */
export const topicsOf = (event: Pick<FeedEvent, 'name' | 'payload'>): readonly LiveTopic[] => {
  const topics = topicsByName.find(([start]) => event.name.startsWith(start))?.[1] ?? []
  const conversation = conversationOf(event)
  return conversation ? [...topics, `conversation:CNV${conversation}`] : topics
}
