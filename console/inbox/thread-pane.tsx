import { useEffect, useRef } from 'preact/hooks'
import { announcePresence, usePresence } from '../live/presence.ts'
import { ButtonLink } from '../parts/button.tsx'
import { Icon } from '../parts/icon.tsx'
import { Empty, ErrorState, Skeleton } from '../parts/page-states.tsx'
import { words as texts } from '../words/en/conversation.ts'
import { list } from '../words/format.ts'
import { markShownRead, unreadMarks } from './conversation-acts.ts'
import type { Place } from './inbox-place.ts'
import { faults, loadConversation, loadThread } from './inbox-reader.ts'
import { conversationOf, open, readers, threadOf } from './inbox-store.ts'
import { shownName } from './list-row.tsx'
import { Messages } from './message-list.tsx'
import { startSending } from './message-sender.ts'
import { ReplyBox } from './reply-box.tsx'
import { loadDraft } from './saved-drafts.ts'
import { ThreadHead } from './thread-head.tsx'

/** Reads a conversation when it is opened, and marks it as read while its end is in view. */
const useOpened = (uuid: string, item: string | undefined): void => {
  const thread = threadOf(uuid)
  useEffect(() => {
    open.value = { uuid, isAtEnd: true }
    unreadMarks.delete(uuid)
    void loadConversation(uuid)
    if (item !== undefined || thread.peek() === undefined || thread.peek()?.newer !== undefined)
      void loadThread(uuid, item)
    else readers.threads([uuid])
    void loadDraft(uuid, 'message')
    announcePresence(uuid, 'viewing')
    return () => {
      announcePresence(uuid, null)
      open.value = { uuid: '', isAtEnd: false }
    }
  }, [uuid, item])
}

const useReadMarks = (uuid: string): void => {
  const unread = conversationOf(uuid)?.unread ?? 0
  const last = threadOf(uuid).value?.items.at(-1)?.uuid
  const { isAtEnd } = open.value
  useEffect(() => {
    const mark = () => {
      if (isAtEnd && document.visibilityState === 'visible') markShownRead(uuid)
    }
    mark()
    document.addEventListener('visibilitychange', mark)
    return () => document.removeEventListener('visibilitychange', mark)
  }, [uuid, unread, last, isAtEnd])
}

/** Colleagues in the same conversation. */
const Presence = ({ uuid }: { uuid: string }) => {
  const people = usePresence(uuid)
  const typing = people.filter(({ state }) => state === 'typing').map(({ name }) => name)
  const viewing = people.filter(({ state }) => state === 'viewing').map(({ name }) => name)
  return (
    <p class="thread-presence" role="status">
      {typing.length > 0 && (
        <span class="is-typing">
          <Icon name="pencil" />{' '}
          {typing.length > 1 ? texts.thread.typingMany(list(typing)) : texts.thread.typing(list(typing))}
        </span>
      )}
      {viewing.length > 0 && (
        <span>
          <Icon name="eye" />{' '}
          {viewing.length > 1 ? texts.thread.viewingMany(list(viewing)) : texts.thread.viewing(list(viewing))}
        </span>
      )}
    </p>
  )
}

const Thread = ({ place }: { place: Place }) => {
  const uuid = place.conversation
  useOpened(uuid, place.search.item)
  useReadMarks(uuid)
  const heading = useRef<HTMLHeadingElement>(null)
  const conversation = conversationOf(uuid)
  const thread = threadOf(uuid).value
  const fault = faults.value.get(uuid) ?? faults.value.get(`thread ${uuid}`)
  useEffect(() => {
    // Below two panes the list is gone: the focus goes along.
    if (matchMedia('(width < 45rem)').matches) heading.current?.focus({ preventScroll: true })
  }, [uuid])
  if (!conversation && fault)
    return fault.status === 404 ? (
      <Empty
        icon="circle-question-mark"
        title={texts.thread.missing}
        act={<ButtonLink href={place.hrefOf('')}>{texts.thread.back}</ButtonLink>}
      >
        {texts.thread.missingHint}
      </Empty>
    ) : (
      <ErrorState refusal={fault} onRetry={() => void loadConversation(uuid)} />
    )
  if (!conversation) return <Skeleton rows={8} />
  return (
    <>
      <ThreadHead place={place} conversation={conversation} heading={heading} />
      {thread ? (
        <Messages place={place} conversation={conversation} thread={thread} />
      ) : fault ? (
        <ErrorState refusal={fault} onRetry={() => void loadThread(uuid)} />
      ) : (
        <div class="thread-waiting">
          <Skeleton rows={6} />
        </div>
      )}
      <Presence uuid={uuid} />
      <ReplyBox key={uuid} conversation={conversation} place={place} />
    </>
  )
}

/** The open conversation. */
export const ThreadPane = ({ place }: { place: Place }) => {
  const conversation = conversationOf(place.conversation)
  return (
    <section
      class="inbox-thread"
      aria-label={conversation ? texts.thread.with(shownName(conversation)) : texts.thread.label}
    >
      <Thread key={place.conversation} place={place} />
    </section>
  )
}

export { startSending }
