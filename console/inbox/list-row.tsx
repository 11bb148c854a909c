import type { IconName } from '../icons/names.ts'
import { classes } from '../parts/classes.ts'
import { Icon } from '../parts/icon.tsx'
import { words } from '../words/en/inbox.ts'
import { duration, phoneNumber, shortTime } from '../words/format.ts'
import { listTime } from '../words/list-time.ts'
import type { Place } from './inbox-place.ts'
import { conversationOf } from './inbox-store.ts'
import type { Conversation } from './inbox-types.ts'
import { isSelected, selection, toggleSelected } from './list-selection.ts'
import { Avatar } from './person-avatar.tsx'
import { draftTexts } from './saved-drafts.ts'
import { memberName, ownUser, tags } from './team-members.ts'
import { now } from './waiting-clock.ts'

/** A name as people read it. */
export const shownName = ({ name }: Pick<Conversation, 'name'>): string => phoneNumber(name)

const kindIcons: Readonly<Record<string, IconName>> = {
  'call inbound': 'phone-incoming',
  'call outbound': 'phone-outgoing',
  'msgapp-call inbound': 'phone-incoming',
  'msgapp-call outbound': 'phone-outgoing',
}

const isFailed = (status: string | undefined): boolean =>
  status !== undefined && ['failed', 'undelivered', 'rejected', 'expired'].includes(status)

const stateIcons = {
  failed: 'circle-alert',
  read: 'check-check',
  delivered: 'check-check',
  sent: 'check',
  queued: 'clock',
} as const

/** How far a message of ours is, by the status of SMS or the messaging app. */
const stateOf = (status: string | undefined): keyof typeof stateIcons | undefined =>
  isFailed(status)
    ? 'failed'
    : status === 'received'
      ? 'delivered'
      : status === 'sending' || status === 'scheduled'
        ? 'queued'
        : status === 'read' || status === 'delivered' || status === 'sent' || status === 'queued'
          ? status
          : undefined

/** The last message, or the draft of the person. */
const Preview = ({ conversation }: { conversation: Conversation }) => {
  const { uuid, last } = conversation
  const draft = draftTexts.value.get(uuid)
  if (draft)
    return (
      <span class="inbox-preview cut">
        <Icon name="pencil" /> <span class="inbox-draft">{words.list.draft}:</span> <span dir="auto">{draft}</span>
      </span>
    )
  const isCall = last.kind === 'call' || last.kind === 'msgapp-call'
  const isMissed =
    isCall && last.direction === 'inbound' && ['MISSED', 'NO_ANSWER', 'CANCELED'].includes(last.status ?? '')
  const icon = isMissed ? 'phone-missed' : kindIcons[`${last.kind} ${last.direction}`]
  const callText = isMissed ? words.list.missed : words.list[last.direction === 'inbound' ? 'incoming' : 'outgoing']
  const text = isCall ? callText : last.text
  const state = last.direction === 'outbound' && !isCall ? stateOf(last.status) : undefined
  return (
    <span class={classes('inbox-preview', 'cut', isMissed && 'is-missed', isFailed(last.status) && 'is-failed')}>
      {icon && <Icon name={icon} />}
      {last.direction === 'outbound' && !isCall && <span>{words.list.we}: </span>}
      <span dir="auto">{text}</span>
      {state && <Icon name={stateIcons[state]} label={words.list.states[state]} class="inbox-state" />}
    </span>
  )
}

/** Facts beside the preview: unread, waiting, snoozed, assigned. */
const Marks = ({ conversation }: { conversation: Conversation }) => {
  const { unread, waiting_since: since, status, snoozed_until: until, snoozed_till_reply: tillReply } = conversation
  const assignee = conversation.assignee_uuid
  const waited = since && status === 'open' ? Math.floor((now.value - Date.parse(since)) / 60_000) * 60_000 : 0
  return (
    <span class="inbox-marks">
      {conversation.priority > 0 && (
        <Icon
          name="flag"
          class={conversation.priority > 1 ? 'is-urgent' : 'is-high'}
          label={conversation.priority > 1 ? words.list.urgent : words.list.high}
        />
      )}
      {status === 'snoozed' && (
        <span class="inbox-mark">
          <Icon name="alarm-clock" />
          {tillReply && !until ? words.list.snoozedReply : until ? words.list.snoozedUntil(shortTime(until)) : ''}
        </span>
      )}
      {waited >= 60_000 && (
        <span class={classes('inbox-mark', waited > 15 * 60_000 && 'is-late')}>
          <Icon name="hourglass" />
          <span class="for-readers">{words.list.waiting(duration(waited))}</span>
          <span aria-hidden="true">{duration(waited)}</span>
        </span>
      )}
      {assignee && assignee !== ownUser.value && (
        <span class="inbox-mark inbox-assignee">
          <Icon name="user" />
          <span class="cut" dir="auto">
            <span class="for-readers">{words.list.assignedTo('')}</span>
            {memberName(assignee) ?? '–'}
          </span>
        </span>
      )}
      {unread > 0 && (
        <span class="inbox-unread tabular">
          <span aria-hidden="true">{unread >= 100 ? '99+' : unread}</span>
          <span class="for-readers">{words.list.unread(unread)}</span>
        </span>
      )}
    </span>
  )
}

const TagDots = ({ of: uuids }: { of: readonly string[] }) =>
  uuids.length === 0 ? null : (
    <span class="inbox-dots">
      {uuids.slice(0, 4).map((uuid) => {
        const tag = tags.value.find((each) => each.uuid === uuid)
        return tag && <i key={uuid} class={`tag-color color-${tag.color}`} title={tag.name} />
      })}
    </span>
  )

type RowProps = {
  readonly uuid: string
  readonly hrefOf: Place['hrefOf']
  /** Whether the thread of the conversation is open. */
  readonly isOpen: boolean
  /** Whether Tab leads to it. */
  readonly isCurrent: boolean
}

/** A conversation in the list. */
export const Row = ({ uuid, hrefOf, isOpen, isCurrent }: RowProps) => {
  const conversation = conversationOf(uuid)
  if (!conversation) return null
  const name = shownName(conversation)
  const selected = isSelected(uuid)
  return (
    <div
      class={classes(
        'inbox-row',
        isOpen && 'is-open',
        conversation.unread > 0 && 'is-unread',
        selected && 'is-selected',
        selection.value.size > 0 && 'is-selecting',
      )}
    >
      <label class="inbox-pick">
        <input
          type="checkbox"
          tabIndex={-1}
          checked={selected}
          onClick={(event) => toggleSelected(uuid, event.shiftKey)}
        />
        <span class="for-readers">{words.list.select(name)}</span>
        <Avatar conversation={conversation} />
      </label>
      <a
        class="inbox-link"
        data-row={uuid}
        href={hrefOf(uuid)}
        aria-current={isOpen ? 'true' : undefined}
        tabIndex={isCurrent ? 0 : -1}
      >
        <span class="inbox-line">
          <span class="inbox-name cut" dir="auto">
            {name}
          </span>
          <TagDots of={conversation.tags} />
          <time class="inbox-time tabular" dateTime={conversation.last.at}>
            {listTime(conversation.last.at, now.value)}
          </time>
        </span>
        <span class="inbox-line">
          <Preview conversation={conversation} />
          <Marks conversation={conversation} />
        </span>
      </a>
    </div>
  )
}
