import type { ComponentChildren } from 'preact'
import { classes } from '../parts/classes.ts'
import { Icon } from '../parts/icon.tsx'
import { memo } from '../parts/memo.ts'
import { Menu, type MenuItem } from '../parts/menu.tsx'
import { showToast } from '../parts/toast.tsx'
import { copyText } from '../parts/values.tsx'
import { paths } from '../paths.ts'
import { words as texts } from '../words/en/conversation.ts'
import { words } from '../words/en/inbox.ts'
import { clock, exactTime, phoneNumber } from '../words/format.ts'
import { CallItem } from './call-item.tsx'
import { ChangeItem } from './change-item.tsx'
import type { Item, ThreadTarget } from './inbox-types.ts'
import { FailedActs, type ItemActs } from './item-acts.tsx'
import { stateOf, textOf } from './item-state.ts'
import { Media } from './message-media.tsx'
import { NoteItem } from './note-item.tsx'
import { replyTo } from './reply-target.ts'
import { loadStructured, structured } from './structured-messages.ts'
import { memberName, ownUser } from './team-members.ts'
import { now } from './waiting-clock.ts'

/** Only an item that shows a time to come is drawn again as time goes on. */
const time = (): number => now.value

const links = /(https?:\/\/[^\s<>"']+[^\s<>"'.,;:!?)\]])/g

/** Text with its web addresses as links. They open in a tab of their own and learn nothing of this page. */
export const LinkedText = ({ text }: { text: string }) => (
  <p class="bubble-text" dir="auto">
    {text.split(links).map((part, index) =>
      index % 2 === 1 ? (
        <a key={index} href={part} target="_blank" rel="noreferrer noopener">
          {part}
        </a>
      ) : (
        part
      ),
    )}
  </p>
)

/** Returns the author of a message of ours. */
export const authorOf = ({ user_uuid: user }: Item): string =>
  user === undefined
    ? texts.item.api
    : user === ownUser.value
      ? texts.item.you
      : (memberName(user) ?? texts.item.someone)

const channelName = ({ kind }: Item): string => words.kinds[kind === 'msgapp' ? 'msgapp' : 'sms']

/** The author, the time, the channel and the state of a message. */
const Meta = ({ item, name }: { item: Item; name: string }) => {
  const state = stateOf(item, time)
  return (
    <p class={classes('bubble-meta', 'tabular', state?.isFailed && 'is-failed')}>
      <span dir="auto">{item.direction === 'outbound' ? authorOf(item) : name}</span>
      <time dateTime={item.at} title={exactTime(item.at)}>
        {clock(item.at)}
      </time>
      <span>{channelName(item)}</span>
      {item.message?.edited_at && <span>{texts.item.edited}</span>}
      {state && (
        <span class="bubble-state">
          <Icon name={state.icon} /> {state.text}
        </span>
      )}
    </p>
  )
}

const Content = ({ item, author }: { item: Item; author: string | undefined }) => {
  const text = textOf(item)
  const { media, template, content } = item.message?.message ?? {}
  if (item.removed)
    return (
      <p class="bubble-removed">
        <Icon name="ban" /> {texts.thread.removed}
      </p>
    )
  const plain = (
    <>
      {media && <Media media={media} />}
      {item.sms?.media?.map((file, index) => (
        <Media key={index} media={file} />
      ))}
      {template && <p class="bubble-template soft">{texts.item.template(template.name)}</p>}
      {text && <LinkedText text={text} />}
    </>
  )
  if (!content) return plain
  const Structured = structured.value
  if (!Structured) void loadStructured()
  // Until its code is here, a message shows its summary.
  return Structured ? <Structured content={content} author={author} plain={plain} /> : plain
}

const Reactions = ({ item }: { item: Item }) => {
  const reactions = item.message?.reactions ?? []
  if (reactions.length === 0) return null
  return (
    <p class="bubble-reactions">
      {reactions.map(({ by, reaction }) => (
        <span key={by} class="bubble-reaction" title={phoneNumber(by)}>
          <span aria-hidden="true">{reaction}</span>
          <span class="for-readers">{texts.item.reaction(reaction, phoneNumber(by))}</span>
        </span>
      ))}
    </p>
  )
}

const menuOf = (item: Item, conversation: ThreadTarget, acts: ItemActs): readonly MenuItem[] => {
  const text = textOf(item)
  const { message, sms } = item
  return [
    ...(message?.wa_msg_id && !item.removed
      ? [
          {
            text: texts.item.answer,
            icon: 'reply' as const,
            onSelect: () => {
              replyTo.value = { conversation: conversation.uuid, item }
            },
          },
        ]
      : []),
    ...(text
      ? [
          {
            text: texts.item.copy,
            icon: 'copy' as const,
            onSelect: () => void copyText(text).then(() => showToast(texts.item.copied)),
          },
        ]
      : []),
    ...(message && !item.removed && item.direction === 'outbound'
      ? [{ text: texts.item.deleteMessage, icon: 'trash-2' as const, danger: true, onSelect: () => acts.remove(item) }]
      : []),
    ...(sms || message
      ? [
          {
            text: texts.item.details,
            icon: 'history' as const,
            href: paths.message({ message: item.uuid }, message ? { session: message.session_key } : {}),
          },
        ]
      : []),
  ]
}

type Props = {
  readonly item: Item
  readonly conversation: ThreadTarget
  readonly name: string
  readonly isFirst: boolean
  readonly isLast: boolean
  readonly isMarked: boolean
  readonly acts: ItemActs
}

const Bubble = ({ item, conversation, name, isFirst, isLast, acts }: Props) => {
  const isOut = item.direction === 'outbound'
  const state = stateOf(item, time)
  const participant = item.message?.group_uuid ? item.message.participant?.phone_number : undefined
  const author = participant ? phoneNumber(participant) : name
  const menu = menuOf(item, conversation, acts)
  return (
    <div class={classes('message', isOut ? 'message-out' : 'message-in', isFirst && 'is-first', isLast && 'is-last')}>
      <div class="message-body">
        <div class={classes('bubble', state?.isFailed && 'is-failed')}>
          <span class="for-readers">{isOut ? authorOf(item) : author}: </span>
          <Content item={item} author={item.message?.group_uuid ? undefined : name} />
        </div>
        <span class="message-menu">
          {menu.length > 0 && <Menu label={texts.item.actions} size="small" items={menu} />}
        </span>
      </div>
      <Reactions item={item} />
      {(isLast || state?.isFailed) && <Meta item={item} name={author} />}
      {state?.isFailed && <FailedActs item={item} conversation={conversation} reason={state.reason} />}
    </div>
  )
}

const bodies: Readonly<Record<Item['kind'], (props: Props) => ComponentChildren>> = {
  sms: (props) => <Bubble {...props} />,
  msgapp: (props) => <Bubble {...props} />,
  call: ({ item, conversation }) => <CallItem item={item} conversation={conversation} />,
  'msgapp-call': ({ item, conversation }) => <CallItem item={item} conversation={conversation} />,
  note: ({ item, conversation, acts }) => <NoteItem item={item} conversation={conversation} acts={acts} />,
  change: ({ item }) => <ChangeItem item={item} />,
}

/** One item of a thread. */
export const ThreadItem = memo((props: Props) => (
  <li id={props.item.uuid} class={classes('thread-item', props.isMarked && 'is-marked')} data-at={props.item.at}>
    {bodies[props.item.kind](props)}
  </li>
))
