import { useQuery } from '../api/query.ts'
import { may } from '../api/session.ts'
import { Button, ButtonLink } from '../parts/button.tsx'
import { SelectField } from '../parts/choice-fields.tsx'
import { Icon } from '../parts/icon.tsx'
import { CopyButton } from '../parts/values.tsx'
import { paths } from '../paths.ts'
import { callNumber } from '../shell/phone.ts'
import { words as texts } from '../words/en/conversation.ts'
import { words } from '../words/en/inbox.ts'
import { clock, day, phoneNumber, stopwatch } from '../words/format.ts'
import { listTime } from '../words/list-time.ts'
import { assignConversation, setPriority } from './conversation-acts.ts'
import type { Place } from './inbox-place.ts'
import { conversationOf, threadOf } from './inbox-store.ts'
import type { Conversation } from './inbox-types.ts'
import { shownName } from './list-row.tsx'
import { Avatar } from './person-avatar.tsx'
import { changeDraft, draftOf } from './saved-drafts.ts'
import { channelFor, channelName, reasonOf } from './sim-switch.tsx'
import { TagName, TagPicker } from './tag-picker.tsx'
import { memberName, members, ownUser, tags } from './team-members.ts'
import { zoneOf } from './time-zones.ts'
import { now } from './waiting-clock.ts'

const LocalTime = ({ number }: { number: string }) => {
  const zone = zoneOf(number)
  return zone ? <p class="soft">{texts.thread.localTime(clock(now.value, zone))}</p> : null
}

const Head = ({ conversation }: { conversation: Conversation }) => {
  const { number, contact, group_uuid: group } = conversation
  return (
    <header class="person-head">
      <Avatar conversation={conversation} />
      <h2 dir="auto">{shownName(conversation)}</h2>
      {number ? (
        <>
          <p class="row person-number">
            <bdi dir="ltr" class="tabular nowrap">
              {phoneNumber(number)}
            </bdi>
            <CopyButton text={number} what={texts.person.number} />
          </p>
          <LocalTime number={number} />
        </>
      ) : (
        <p class="soft">{group ? texts.person.group : texts.person.hidden}</p>
      )}
      <p class="row person-acts">
        {number && (
          <Button size="small" icon="phone" shortcut="c" onClick={() => callNumber(number)}>
            {words.acts.call}
          </Button>
        )}
        {(number || contact) && (
          <ButtonLink
            size="small"
            icon={contact ? 'pencil' : 'user-plus'}
            href={
              contact ? paths.contact({ contact: contact.uuid }, { edit: '1' }) : paths.contacts({}, { create: number })
            }
          >
            {contact ? words.acts.editContact : words.acts.createContact}
          </ButtonLink>
        )}
      </p>
    </header>
  )
}

const Reached = ({ conversation }: { conversation: Conversation }) => {
  const { uuid, channels } = conversation
  const current = channelFor(conversation, draftOf(uuid, 'message').value.channel)
  if (channels.length === 0) return <p class="soft">{texts.box.noChannel}</p>
  return (
    <>
      <ul class="person-channels">
        {channels.map((channel, index) => (
          <li key={channel.channel_uuid}>
            <label class="choice">
              <input
                type="radio"
                name="person-channel"
                checked={channel === current}
                onChange={() => changeDraft(uuid, 'message', { channel: channel.channel_uuid })}
              />
              <span class="choice-text">
                {channelName(channel)}
                {reasonOf(channel) && <span class="soft person-reason">{reasonOf(channel)}</span>}
              </span>
              {index < 9 && channels.length > 1 && <kbd class="nowrap">Alt {index + 1}</kbd>}
            </label>
          </li>
        ))}
      </ul>
      {channels.some(({ reason }) => reason === 'opted_out') && (
        <a href={paths.optOuts({}, { contact: conversation.counterpart })}>{texts.box.seeOptOut}</a>
      )}
    </>
  )
}

const Tags = ({ conversation }: { conversation: Conversation }) => (
  <div class="person-tags">
    {conversation.tags.map((uuid) => {
      const tag = tags.value.find((each) => each.uuid === uuid)
      return tag && <TagName key={uuid} tag={tag} />
    })}
    <TagPicker conversation={conversation} id="person-tags" isText />
  </div>
)

const State = ({ conversation }: { conversation: Conversation }) => {
  const { uuid, assignee_uuid: assignee, priority } = conversation
  const known = members.value.map(({ user_uuid, name }) => ({
    value: user_uuid,
    text: user_uuid === ownUser.value ? words.acts.me(name) : name,
  }))
  const options = [
    { value: '', text: words.acts.nobody },
    ...known,
    ...(assignee && !known.some(({ value }) => value === assignee)
      ? [{ value: assignee, text: memberName(assignee) ?? texts.item.someone }]
      : []),
  ]
  return (
    <div class="person-state">
      <SelectField
        name="assignee"
        label={texts.person.assignee}
        options={options}
        value={assignee ?? ''}
        onChange={(user) => void assignConversation(uuid, user || undefined)}
      />
      <SelectField
        name="priority"
        label={texts.person.priority}
        options={([0, 1, 2] as const).map((value) => ({ value: String(value), text: words.priorities[value] }))}
        value={String(priority)}
        onChange={(value) => void setPriority(uuid, Number(value))}
      />
    </div>
  )
}

/** Other conversations with the same person, over their other numbers. */
const Others = ({ conversation, place }: { conversation: Conversation; place: Place }) => {
  const contact = conversation.contact?.uuid
  const found = useQuery('GET /open/contacts/:contact_uuid/conversations', {
    params: { contact_uuid: contact ?? '' },
    enabled: contact !== undefined,
  })
  const others = found.data?.conversations.filter(({ uuid }) => uuid !== conversation.uuid) ?? []
  if (others.length === 0) return null
  return (
    <section>
      <h3>{texts.person.others}</h3>
      <ul class="person-list">
        {others.map((other) => (
          <li key={other.uuid}>
            <a href={place.hrefOf(other.uuid)}>
              <span class="cut" dir="auto">
                {other.number ? phoneNumber(other.number) : shownName(other)}
              </span>
              <span class="soft cut" dir="auto">
                {other.last.text}
              </span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  )
}

/** Calls of the thread that is loaded, newest first. */
const Calls = ({ uuid }: { uuid: string }) => {
  const calls = (threadOf(uuid).value?.items ?? [])
    .filter(({ call }) => call !== undefined)
    .slice(-4)
    .reverse()
  if (calls.length === 0) return null
  return (
    <section>
      <h3>{texts.person.calls}</h3>
      <ul class="person-list">
        {calls.map(({ uuid: id, call, at }) => (
          <li key={id} class="person-call">
            <Icon
              name={
                call?.direction === 'I' ? (call.duration > 0 ? 'phone-incoming' : 'phone-missed') : 'phone-outgoing'
              }
            />
            <span>
              {call && call.duration > 0
                ? stopwatch(call.duration)
                : call?.direction === 'I'
                  ? texts.item.missedCall
                  : texts.item.noAnswer}
            </span>
            <time class="soft tabular" dateTime={at}>
              {listTime(at, now.value)}
            </time>
          </li>
        ))}
      </ul>
    </section>
  )
}

const Details = ({ conversation, place }: { conversation: Conversation; place: Place }) => (
  <>
    <Head conversation={conversation} />
    <Tags conversation={conversation} />
    <State conversation={conversation} />
    <section>
      <h3>{texts.person.reachedBy}</h3>
      <Reached conversation={conversation} />
    </section>
    <Calls uuid={conversation.uuid} />
    <Others conversation={conversation} place={place} />
    <section>
      <h3>{texts.person.history}</h3>
      <p class="soft">{texts.person.since(day(conversation.created_at))}</p>
      {conversation.number && may('inbox') && (
        <a href={paths.logs({}, { contact: conversation.number })}>{texts.person.allMessages}</a>
      )}
    </section>
  </>
)

/** The person: details, channels, and other conversations. */
export const PersonPane = ({ place }: { place: Place }) => {
  const conversation = conversationOf(place.conversation)
  return (
    <aside class="inbox-person" aria-label={texts.person.title}>
      <p class="person-back">
        <a class="button button-quiet" href={place.hrefOf(place.conversation)}>
          <Icon name="chevron-left" class="icon-turn" />
          <span class="button-text">{texts.person.hide}</span>
        </a>
      </p>
      {conversation && <Details conversation={conversation} place={place} />}
    </aside>
  )
}
