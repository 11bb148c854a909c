import type { IconName } from '../icons/names.ts'
import { Icon } from '../parts/icon.tsx'
import { words } from '../words/en/inbox.ts'
import { clock, exactTime, shortTime } from '../words/format.ts'
import { memberName, ownUser, tags } from './team.ts'
import type { Item } from './types.ts'

const who = (user: string | undefined): string =>
  user === undefined
    ? words.changes.platform
    : user === ownUser.value
      ? words.changes.you
      : (memberName(user) ?? words.item.someone)

const tagName = (uuid: string): string => tags.value.find((tag) => tag.uuid === uuid)?.name ?? words.changes.deletedTag

const listOfTags = (value: string | null): readonly string[] => value?.split(',').filter(Boolean) ?? []

const tagSentence = (by: string, from: string | null, to: string | null): string => {
  const [before, after] = [listOfTags(from), listOfTags(to)]
  const added = after.filter((tag) => !before.includes(tag)).map(tagName)
  const removed = before.filter((tag) => !after.includes(tag)).map(tagName)
  return [
    ...added.map((name) => words.changes.tagged(by, name)),
    ...removed.map((name) => words.changes.untagged(by, name)),
  ].join('. ')
}

const assigned = (by: string, user: string | undefined, to: string | null): string => {
  if (to === null) return words.changes.unassigned(by)
  return to === user ? words.changes.took(by) : words.changes.assigned(by, who(to))
}

/** What a person changed, as a sentence. */
const sentenceOf = ({ user_uuid: user, change }: Item): string => {
  if (!change) return ''
  const by = who(user)
  const { field, from, to } = change
  switch (field) {
    case 'status':
      if (to === 'closed') return words.changes.closed(by)
      if (to === 'snoozed') return words.changes.snoozed(by)
      if (user === undefined) return words.changes.openedAlone
      return from === 'snoozed' ? words.changes.unsnoozed(by) : words.changes.opened(by)
    case 'assignee_uuid':
      return assigned(by, user, to)
    case 'priority':
      return words.changes.priority(by, words.priorities[Number(to) as 0 | 1 | 2])
    case 'tags':
      return tagSentence(by, from, to)
    case 'snoozed_until':
      return to === null ? words.changes.unsnoozed(by) : words.changes.snoozedUntil(by, shortTime(to))
    case 'snoozed_till_reply':
      return to === 'true' ? words.changes.snoozedReply(by) : words.changes.unsnoozed(by)
  }
}

const icons: Readonly<Record<string, IconName>> = {
  closed: 'check',
  snoozed: 'alarm-clock',
  open: 'inbox',
  assignee_uuid: 'user-check',
  priority: 'flag',
  tags: 'tag',
  snoozed_until: 'alarm-clock',
  snoozed_till_reply: 'alarm-clock',
}

/** A change of the conversation: one quiet line. */
export const ChangeItem = ({ item }: { item: Item }) => {
  const { field = '', to } = item.change ?? {}
  return (
    <p class="thread-line">
      <Icon name={icons[field === 'status' ? (to ?? '') : field] ?? 'history'} />
      <span dir="auto">{sentenceOf(item)}</span>
      <time class="tabular" dateTime={item.at} title={exactTime(item.at)}>
        {clock(item.at)}
      </time>
    </p>
  )
}
