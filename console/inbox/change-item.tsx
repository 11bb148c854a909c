import type { IconName } from '../icons/names.ts'
import { Icon } from '../parts/icon.tsx'
import { words as texts } from '../words/en/conversation.ts'
import { words } from '../words/en/inbox.ts'
import { clock, exactTime, shortTime } from '../words/format.ts'
import type { Item } from './inbox-types.ts'
import { memberName, ownUser, tags } from './team-members.ts'
import { now } from './waiting-clock.ts'

const who = (user: string | undefined): string =>
  user === undefined
    ? texts.changes.platform
    : user === ownUser.value
      ? texts.changes.you
      : (memberName(user) ?? texts.item.someone)

const tagName = (uuid: string): string => tags.value.find((tag) => tag.uuid === uuid)?.name ?? texts.changes.deletedTag

const listOfTags = (value: string | null): readonly string[] => value?.split(',').filter(Boolean) ?? []

const tagSentence = (by: string, from: string | null, to: string | null): string => {
  const [before, after] = [listOfTags(from), listOfTags(to)]
  const added = after.filter((tag) => !before.includes(tag)).map(tagName)
  const removed = before.filter((tag) => !after.includes(tag)).map(tagName)
  return [
    ...added.map((name) => texts.changes.tagged(by, name)),
    ...removed.map((name) => texts.changes.untagged(by, name)),
  ].join('. ')
}

const assigned = (by: string, user: string | undefined, to: string | null): string => {
  if (to === null) return texts.changes.unassigned(by)
  return to === user
    ? texts.changes.took(by)
    : texts.changes.assigned(by, to === ownUser.value ? texts.changes.toYou : who(to))
}

/** Returns a change as a sentence. */
const sentenceOf = ({ user_uuid: user, change }: Item): string => {
  if (!change) return ''
  const by = who(user)
  const { field, from, to } = change
  switch (field) {
    case 'status':
      if (from === null) return user === undefined ? texts.changes.beganAlone : texts.changes.began(by)
      if (to === 'closed') return texts.changes.closed(by)
      if (to === 'snoozed') return texts.changes.snoozed(by)
      if (user === undefined) return texts.changes.openedAlone
      return from === 'snoozed' ? texts.changes.unsnoozed(by) : texts.changes.opened(by)
    case 'assignee_uuid':
      return assigned(by, user, to)
    case 'priority':
      return texts.changes.priority(by, words.priorities[Number(to) as 0 | 1 | 2])
    case 'tags':
      return tagSentence(by, from, to)
    case 'snoozed_until':
      return to === null ? texts.changes.unsnoozed(by) : texts.changes.snoozedUntil(by, shortTime(to, now.value))
    case 'snoozed_till_reply':
      return to === 'true' ? texts.changes.snoozedReply(by) : texts.changes.unsnoozed(by)
    case 'number':
      return texts.changes.numberChanged(from ?? '', to ?? '')
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
  number: 'phone',
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
