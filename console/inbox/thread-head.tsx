import type { RefObject } from 'preact'
import { useState } from 'preact/hooks'
import lazy from 'preact-iso/lazy'
import { Button } from '../parts/button.tsx'
import { Icon } from '../parts/icon.tsx'
import { Menu, type MenuItem } from '../parts/menu.tsx'
import { showToast } from '../parts/toast.tsx'
import { copyText } from '../parts/values.tsx'
import { paths } from '../paths.ts'
import { callNumber } from '../shell/phone.ts'
import { words as texts } from '../words/en/conversation.ts'
import { words } from '../words/en/inbox.ts'
import { phoneNumber, shortTime } from '../words/format.ts'
import {
  assignConversation,
  markUnread,
  reopenConversation,
  setPriority,
  snoozeConversation,
} from './conversation-acts.ts'
import type { Place } from './inbox-place.ts'
import type { Conversation } from './inbox-types.ts'
import { shownName } from './list-row.tsx'
import { closeAndNext } from './next-conversation.ts'
import { snoozeTimes } from './snooze-times.ts'
import { TagPicker } from './tag-picker.tsx'
import { memberName, members, ownUser } from './team-members.ts'

const SnoozeUntil = lazy(() => import('./snooze-until.tsx').then(({ SnoozeUntil }) => SnoozeUntil))

/** The name of the assignee in the line under the name. */
const assigneeText = ({ assignee_uuid: uuid }: Conversation): string =>
  uuid === undefined ? texts.thread.unassigned : texts.thread.assigned(memberName(uuid) ?? '–')

export const assignItems = (conversation: Conversation): readonly MenuItem[] => {
  const { uuid, assignee_uuid: assignee } = conversation
  const own = ownUser.value
  const others = members.value.filter(({ user_uuid }) => user_uuid !== own)
  return [
    ...(own
      ? [
          {
            text: words.acts.toMe,
            checked: assignee === own,
            onSelect: () => void assignConversation(uuid, own),
          },
        ]
      : []),
    {
      text: words.acts.nobody,
      checked: assignee === undefined,
      onSelect: () => void assignConversation(uuid, undefined),
    },
    ...others.map(({ user_uuid, name, availability, call_uuid }) => ({
      text: name,
      checked: assignee === user_uuid,
      ...(availability === 'away' ? { hint: words.acts.away } : call_uuid ? { hint: words.acts.onCall } : {}),
      onSelect: () => void assignConversation(uuid, user_uuid),
    })),
  ]
}

const snoozeItems = (uuid: string, askTime: () => void): readonly MenuItem[] => [
  ...snoozeTimes(new Date()).map(({ name, at }) => ({
    text: words.acts[name],
    hint: shortTime(at),
    onSelect: () => void snoozeConversation(uuid, at.toISOString()),
  })),
  { text: words.acts.reply, divided: true, onSelect: () => void snoozeConversation(uuid, null) },
  { text: words.acts.time, icon: 'calendar', onSelect: askTime },
]

const moreItems = (place: Place, { uuid, number, priority }: Conversation): readonly MenuItem[] => [
  ...(number
    ? [
        {
          text: words.acts.call,
          icon: 'phone' as const,
          hint: phoneNumber(number),
          onSelect: () => callNumber(number),
        },
      ]
    : []),
  {
    text: words.acts.unread,
    icon: 'mail',
    onSelect: () => {
      void markUnread(uuid)
      place.openConversation('')
    },
  },
  {
    text: words.acts.copyLink,
    icon: 'link',
    onSelect: () =>
      void copyText(location.origin + paths.inbox({ view: 'all', conversation: uuid })).then(() =>
        showToast(words.acts.linkCopied),
      ),
  },
  ...([0, 1, 2] as const).map((value) => ({
    text: `${words.acts.priority}: ${words.priorities[value]}`,
    checked: priority === value,
    divided: value === 0,
    onSelect: () => void setPriority(uuid, value),
  })),
]

const StateLine = ({ conversation }: { conversation: Conversation }) => {
  const { status, snoozed_until: until, snoozed_till_reply: tillReply, number } = conversation
  return (
    <p class="thread-sub">
      {number && shownName(conversation) !== phoneNumber(number) && (
        <bdi dir="ltr" class="tabular nowrap">
          {phoneNumber(number)}
        </bdi>
      )}
      <span dir="auto">{assigneeText(conversation)}</span>
      {status === 'closed' && (
        <span class="thread-status">
          <Icon name="circle-check" /> {words.statuses.closed}
        </span>
      )}
      {status === 'snoozed' && (
        <span class="thread-status">
          <Icon name="alarm-clock" />{' '}
          {texts.thread.snoozed(
            until ? words.list.snoozedUntil(shortTime(until)) : tillReply ? words.list.snoozedReply : '',
          )}
        </span>
      )}
    </p>
  )
}

type Props = {
  readonly place: Place
  readonly conversation: Conversation
  readonly heading: RefObject<HTMLHeadingElement | null>
}

/** The name, the state, and the acts of a conversation. */
export const ThreadHead = ({ place, conversation, heading }: Props) => {
  const { uuid, status } = conversation
  const [isAsking, setAsking] = useState(false)
  const isPersonOpen = place.search.pane === 'person'
  return (
    <header class="thread-head">
      <a class="button button-quiet button-icon thread-back" href={place.hrefOf('')}>
        <Icon name="chevron-left" class="icon-turn" />
        <span class="for-readers">{texts.thread.back}</span>
      </a>
      <div class="thread-title">
        <h2 ref={heading} tabIndex={-1} class="cut" dir="auto">
          {shownName(conversation)}
        </h2>
        <StateLine conversation={conversation} />
      </div>
      <div class="thread-acts">
        <span data-act="assign">
          <Menu label={words.acts.assign} icon="user-plus" items={assignItems(conversation)} />
        </span>
        <span data-act="tag">
          <TagPicker conversation={conversation} id="thread-tags" />
        </span>
        <span data-act="snooze">
          <Menu label={words.acts.snooze} icon="alarm-clock" items={snoozeItems(uuid, () => setAsking(true))} />
        </span>
        {status === 'open' ? (
          <Button icon="check" shortcut="e" onClick={() => void closeAndNext(place, uuid)}>
            {words.acts.close}
          </Button>
        ) : (
          <Button icon="inbox" shortcut="Shift+E" onClick={() => void reopenConversation(uuid)}>
            {status === 'snoozed' ? words.acts.end : words.acts.reopen}
          </Button>
        )}
        <span data-act="more">
          <Menu label={texts.thread.acts} items={moreItems(place, conversation)} />
        </span>
        <a
          class="button button-quiet button-icon thread-person-link"
          href={place.hrefOf(uuid, { pane: isPersonOpen ? undefined : 'person' })}
        >
          <Icon name="panel-right" />
          <span class="for-readers">{texts.thread.openPerson}</span>
        </a>
      </div>
      {isAsking && <SnoozeUntil conversation={uuid} onClose={() => setAsking(false)} />}
    </header>
  )
}
