import { bitOf, type Capability } from '../../platform/http/capability.ts'
import { parse } from '../../platform/lib/id.ts'
import type { LiveTopic } from './contract.ts'

/** A topic that a page follows. `webhook`: bare id, for the topic of one webhook. */
export type Topic = { readonly name: LiveTopic; readonly webhook: string | null }

/** Capabilities of which one is needed for a topic. */
const needs = new Map<string, readonly Capability[]>([
  ['inbox', ['inbox']],
  ['calls', ['inbox', 'read_only']],
  ['numbers', ['read_only', 'numbers']],
  ['webhooks', ['develop']],
  ['webhook', ['develop']],
  ['money', ['money']],
  ['team', ['inbox', 'people']],
])

const isPlain = (text: string): text is Exclude<LiveTopic, `webhook:${string}`> => text !== 'webhook' && needs.has(text)

/** Parses a topic; null for any other text. */
export const parseTopic = (text: string): Topic | null => {
  if (isPlain(text)) return { name: text, webhook: null }
  const webhook = text.startsWith('webhook:') ? parse('WHK', text.slice(8)) : null
  return webhook === null ? null : { name: `webhook:WHK${webhook}`, webhook }
}

/** True if a key or session with these scopes may follow the topic. */
export const mayFollow = ({ name, webhook }: Topic, scopes: number): boolean =>
  (needs.get(webhook === null ? name : 'webhook') ?? []).some((one) => (scopes & bitOf(one)) !== 0)

/** Topics of an event by the beginning of its name. The first match counts. */
const topicsByName: readonly (readonly [string, readonly LiveTopic[]])[] = [
  ['msgapp.call.', ['calls', 'inbox']],
  ['msgapp.number.', ['numbers']],
  ['msgapp.check.', ['numbers']],
  ['msgapp.', ['inbox']],
  ['sms.', ['inbox']],
  ['contact.', ['inbox']],
  ['call.', ['calls']],
  ['number.', ['numbers']],
  ['balance.', ['money']],
]

/** Returns the topics that an event of the log belongs to. */
export const topicsOf = (event: string): readonly LiveTopic[] =>
  topicsByName.find(([start]) => event.startsWith(start))?.[1] ?? []
