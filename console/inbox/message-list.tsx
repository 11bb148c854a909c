import type { RefObject } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import lazy from 'preact-iso/lazy'
import { Icon } from '../parts/icon.tsx'
import { announcement } from '../shell/announcer.tsx'
import { words as texts } from '../words/en/conversation.ts'
import { words } from '../words/en/inbox.ts'
import { words as parts } from '../words/en/parts.ts'
import { dayName } from '../words/list-time.ts'
import type { Place } from './inbox-place.ts'
import { busyWith, loadNewer, loadOlder, loadThread } from './inbox-reader.ts'
import { open, type Thread } from './inbox-store.ts'
import type { Conversation, Item } from './inbox-types.ts'
import { rowsOf } from './item-groups.ts'
import { textOf } from './item-state.ts'
import { shownName } from './list-row.tsx'
import { outgoing } from './outbox.ts'
import { notYetShown, outgoingOf } from './outbox-rules.ts'
import { OutgoingItem } from './outgoing-item.tsx'
import { beginVisit, unseenAnswers, useSeenAnswers } from './seen-answers.ts'
import { ownUser } from './team-members.ts'
import { ThreadItem } from './thread-item.tsx'
import { now } from './waiting-clock.ts'

const RemoveItem = lazy(() => import('./remove-item.tsx').then(({ RemoveItem }) => RemoveItem))

/** Pixels from the end within which the person reads the newest message. */
const endZone = 48
/** Pixels from the beginning within which older messages are read ahead. */
const olderZone = 900

// The box is laid out from its end (column-reverse): its position counts from the newest message, so older messages
// that come in above move nothing.
const fromEnd = (box: HTMLElement): number => Math.abs(box.scrollTop)
const fromStart = (box: HTMLElement): number => box.scrollHeight - box.clientHeight - fromEnd(box)

/** Reads out messages that come in; not those of the person. */
const useReadAloud = (items: readonly Item[], name: string): void => {
  const last = items.at(-1)
  const first = useRef(last?.uuid)
  useEffect(() => {
    if (!last || last.uuid === first.current) return
    first.current = last.uuid
    const isOther = last.direction === 'inbound' || (last.kind === 'note' && last.user_uuid !== ownUser.peek())
    if (isOther) announcement.value = texts.thread.newMessage(name, textOf(last))
  }, [last?.uuid])
}

/** Counts what others wrote while the person reads older messages. */
const useNewBelow = (items: readonly Item[], isAtEnd: boolean): number => {
  const seen = useRef(items.at(-1)?.uuid)
  if (isAtEnd) seen.current = items.at(-1)?.uuid
  const index = items.findIndex(({ uuid }) => uuid === seen.current)
  const isOther = ({ kind, direction, user_uuid }: Item) =>
    kind !== 'change' && (direction === 'inbound' || user_uuid === undefined || user_uuid !== ownUser.value)
  return index < 0 ? 0 : items.slice(index + 1).filter(isOther).length
}

/** Watches the answers of others that the person has not seen. */
const useUnseen = (uuid: string, isEndLoaded: boolean): void => {
  // Before the first look at what is unseen.
  useMemo(() => beginVisit(uuid), [uuid, isEndLoaded])
  const ids = unseenAnswers(uuid).map((item) => item.uuid)
  useSeenAnswers(
    uuid,
    ids.join(),
    () =>
      new Map(
        ids.flatMap((id) => {
          const element = document.getElementById(id)
          return element ? [[element, [id]] as const] : []
        }),
      ),
  )
}

type ScrollProps = {
  readonly box: RefObject<HTMLDivElement | null>
  readonly uuid: string
  readonly thread: Thread
  /** Id of the last message that the person sent from here. */
  readonly newest: string | undefined
  /** Id of the item that the address of the page names. */
  readonly marked: string | undefined
}

/** Loads further pages of a thread while the person scrolls, and moves to what the person sent or looks for. */
const useThreadScroll = ({ box, uuid, thread, newest, marked }: ScrollProps) => {
  const look = () => {
    const element = box.current
    if (!element) return
    const atEnd = fromEnd(element) < endZone && thread.newer === undefined
    if (open.peek().isAtEnd !== atEnd || open.peek().uuid !== uuid) open.value = { uuid, isAtEnd: atEnd }
    if (thread.older !== undefined && fromStart(element) < olderZone) void loadOlder(uuid)
    if (thread.newer !== undefined && fromEnd(element) < olderZone) void loadNewer(uuid)
  }
  // A page that does not fill the box leads to the next one.
  useEffect(look, [thread.items.length, thread.older])
  // One's own message is shown at once, wherever the person was.
  useLayoutEffect(() => {
    if (newest && box.current) box.current.scrollTop = 0
  }, [newest])
  // The part of the thread with the item may come later than its address.
  const isMarkedLoaded = thread.items.some((item) => item.uuid === marked)
  useLayoutEffect(() => {
    if (marked && isMarkedLoaded) document.getElementById(marked)?.scrollIntoView({ block: 'center' })
  }, [marked, isMarkedLoaded])

  const toEnd = () => {
    if (thread.newer !== undefined) void loadThread(uuid)
    if (box.current) box.current.scrollTop = 0
  }
  return { look, toEnd }
}

type Props = { readonly place: Place; readonly conversation: Conversation; readonly thread: Thread }

export const Messages = ({ place, conversation, thread }: Props) => {
  const { uuid } = conversation
  const box = useRef<HTMLDivElement>(null)
  const [removing, setRemoving] = useState<Item>()
  // The dialog stays in the page once it is there: it gives the focus back.
  const hasRemoved = useRef(false)
  if (removing) hasRemoved.current = true
  const acts = useMemo(() => ({ remove: setRemoving }), [])
  const name = shownName(conversation)
  // The same object while the conversation changes: the items are not drawn again for it.
  const target = useMemo(() => ({ uuid, number: conversation.number }), [uuid, conversation.number])
  const marked = place.search.item
  const { isAtEnd } = open.value
  const own = thread.items.filter((item) => item.direction === 'outbound' && (item.user_uuid ?? '') === ownUser.value)
  const waiting = notYetShown(
    outgoingOf(outgoing.value, uuid),
    own.slice(-30).map((item) => ({ uuid: item.uuid, text: textOf(item) })),
  )
  const below = useNewBelow(thread.items, isAtEnd)
  const rows = useMemo(() => rowsOf(thread.items), [thread.items])
  useReadAloud(thread.items, name)
  useUnseen(uuid, thread.newer === undefined)

  const { look, toEnd } = useThreadScroll({ box, uuid, thread, newest: waiting.at(-1)?.id, marked })
  return (
    <div class="thread-frame">
      <div
        ref={box}
        class="thread-scroll"
        role="log"
        aria-live="off"
        aria-label={texts.thread.label}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
        tabIndex={0}
        onScroll={look}
      >
        <div class="thread-content">
          {thread.older === undefined ? (
            <p class="thread-line">{thread.items.length > 0 ? texts.thread.beginning : texts.thread.none}</p>
          ) : (
            <p class="thread-line" role="status">
              {busyWith.value.has(`older ${uuid}`) ? texts.thread.older : ''}
            </p>
          )}
          <ol class="thread-items">
            {rows.map((row) =>
              row.kind === 'day' ? (
                <li key={row.key} class="thread-day">
                  <h3>{dayName(row.at, now.value)}</h3>
                </li>
              ) : (
                <ThreadItem
                  key={row.key}
                  item={row.item}
                  conversation={target}
                  name={name}
                  isFirst={row.isFirst}
                  isLast={row.isLast}
                  isMarked={row.item.uuid === marked}
                  acts={acts}
                />
              ),
            )}
            {waiting.map((entry) => (
              <OutgoingItem key={entry.id} entry={entry} conversation={conversation} />
            ))}
          </ol>
        </div>
      </div>
      {(!isAtEnd || thread.newer !== undefined) && (
        <button type="button" class="thread-newest" onClick={toEnd}>
          <Icon name="arrow-down" />
          {below > 0 ? words.list.new(below) : <span class="for-readers">{texts.thread.newest}</span>}
        </button>
      )}
      {hasRemoved.current && <RemoveItem item={removing} conversation={uuid} onClose={() => setRemoving(undefined)} />}
      {busyWith.value.has(`newer ${uuid}`) && <span class="for-readers">{parts.loading}</span>}
    </div>
  )
}
