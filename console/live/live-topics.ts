import { signal } from '@preact/signals'
import { useLayoutEffect } from 'preact/hooks'
import type { LiveTopic } from '../../src/interfaces/live/contract.ts'

// Topics that the shown pages follow. The line subscribes to these alone, so that the server watches nothing in vain.

const counts = new Map<LiveTopic, number>()

/** Topics that at least one shown component follows. */
export const followed = signal<readonly LiveTopic[]>([])

const change = (topic: LiveTopic, by: 1 | -1): void => {
  const count = (counts.get(topic) ?? 0) + by
  if (count > 0) counts.set(topic, count)
  else counts.delete(topic)
  const topics = [...counts.keys()].sort()
  if (topics.join() !== followed.value.join()) followed.value = topics
}

/** Follows a topic until the returned function is called. */
export const followTopic = (topic: LiveTopic): (() => void) => {
  change(topic, 1)
  return () => change(topic, -1)
}

/** Topics by the beginning of an event's name, as the server sorts events. The first match counts. */
const topicsByName: readonly (readonly [string, readonly LiveTopic[]])[] = [
  ['msgapp.call', ['calls', 'inbox']],
  ['msgapp.number', ['numbers']],
  ['msgapp', ['inbox', 'numbers']],
  ['sms', ['inbox']],
  ['conversation', ['inbox']],
  ['contact', ['inbox']],
  ['call', ['calls']],
  ['number', ['numbers']],
  ['balance', ['money']],
  ['webhook', ['webhooks']],
  ['member', ['team']],
]

/** Follows the topics of events while a component is shown. @param names of events, or their beginnings */
export const useTopics = (names: readonly string[]): void => {
  const text = names.join()
  // Before the paint, as the reading that the events belong to.
  useLayoutEffect(() => {
    const topics = text.split(',').flatMap((name) => topicsByName.find(([start]) => name.startsWith(start))?.[1] ?? [])
    const ends = [...new Set(topics)].map(followTopic)
    return () => {
      for (const end of ends) end()
    }
  }, [text])
}
