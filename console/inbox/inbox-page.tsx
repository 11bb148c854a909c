import { useEffect, useLayoutEffect } from 'preact/hooks'
import lazy from 'preact-iso/lazy'
import { useLocation } from 'preact-iso/router'
import { account } from '../api/session.ts'
import { useTopics } from '../live/live-topics.ts'
import { onEvent, onLiveFrame } from '../live/socket.ts'
import { Empty } from '../parts/page-states.tsx'
import { type PageOf, paths } from '../paths.ts'
import { useArrival } from '../shell/section-page.tsx'
import { words } from '../words/en/inbox.ts'
import { bulkChanged, bulkWork } from './bulk-change.ts'
import { houseViews, queryOf, type Search, startView, viewName } from './house-views.ts'
import { useInboxKeys } from './inbox-keys.ts'
import { usePlace } from './inbox-place.ts'
import { reloadShown } from './inbox-reader.ts'
import { applyEvent, conversationOf, forgetAll, listOf, viewer } from './inbox-store.ts'
import { ListPane } from './list-pane.tsx'
import { shownName } from './list-row.tsx'
import { forgetCounts, useLiveCounts } from './live-counts.ts'
import { openDrafts } from './saved-drafts.ts'
import { forgetTeam, ownUser, savedViews, useTeam } from './team-members.ts'

// The list is usable first: the thread comes in a file of its own, which the page loads at once.
const loadThreadPane = () =>
  import('./thread-pane.tsx').then(({ ThreadPane, startSending }) => {
    startSending()
    return ThreadPane
  })
const ThreadPane = lazy(loadThreadPane)
const PersonPane = lazy(() => import('./person-pane.tsx').then(({ PersonPane }) => PersonPane))
const BulkProgress = lazy(() => import('./bulk-bar.tsx').then(({ BulkProgress }) => BulkProgress))

let openAccount = ''

/** Begins for the person and the account of the page. */
const begin = (): void => {
  const key = `${account.value?.uuid} ${ownUser.value}`
  if (openAccount === key) return
  if (openAccount !== '') {
    forgetAll()
    forgetTeam()
    forgetCounts()
  }
  openAccount = key
  viewer.value = ownUser.value
  openDrafts(ownUser.value)
}

const useLive = (): void => {
  useTopics(['conversation', 'sms', 'msgapp', 'call'])
  // In the task in which the list is asked for: an event between the answer and a later effect would be lost.
  useLayoutEffect(() => {
    const ends = [
      onEvent((event) => {
        if (event.name === 'conversation.bulk') bulkChanged()
        else applyEvent(event)
      }),
      onLiveFrame(({ type }) => {
        if (type === 'resync') reloadShown()
      }),
    ]
    return () => {
      for (const end of ends) end()
    }
  }, [])
}

/** Names the window. The count of news before it is of live/attention.ts. */
const useTitle = (name: string): void => {
  useEffect(() => {
    document.title = `${name} · ${account.peek()?.name ?? ''}`
  }, [name])
}

const depthOf = (conversation: string, search: Search): 'list' | 'thread' | 'person' =>
  conversation === '' ? 'list' : search.pane === 'person' ? 'person' : 'thread'

const NoThread = () => (
  <section class="inbox-thread" aria-label={words.empty.thread}>
    <div class="thread-none">
      <Empty icon="message-square" title={words.empty.choose}>
        {words.empty.chooseHint}
      </Empty>
    </div>
  </section>
)

/** The shared inbox: the list, the thread, the person. */
export const InboxPage = ({ params, search }: PageOf<typeof paths.inbox>) => {
  begin()
  const { route: go } = useLocation()
  const view = params.view ?? startView(ownUser.value !== '')
  const uuid = params.conversation ?? ''
  const place = usePlace(view, uuid, search)
  const isSaved = !houseViews.some(({ slug }) => slug === view)
  const saved = savedViews.value
  // A saved view is known once the views are there.
  const query = isSaved && saved === undefined ? undefined : queryOf(view, search, saved ?? [])
  const isListed = query !== undefined && listOf(query).value !== undefined
  const conversation = conversationOf(uuid)
  const name = conversation ? words.place(shownName(conversation)) : `${viewName(view, saved ?? [])} · ${words.title}`
  useArrival(name)
  useTitle(name)
  useLive()
  useTeam(isListed, isSaved)
  useLiveCounts(isListed)
  useInboxKeys(place)
  useEffect(() => {
    if (isListed) void loadThreadPane()
  }, [isListed, account.value?.uuid])
  useEffect(() => {
    if (params.view === undefined) go(paths.inbox({ view }, search), true)
  }, [params.view])
  return (
    <div class="inbox" data-depth={depthOf(uuid, search)}>
      <h1 class="for-readers" tabIndex={-1}>
        {name}
      </h1>
      <div class={uuid ? 'inbox-panes has-conversation' : 'inbox-panes'}>
        <ListPane place={place} query={query} />
        {uuid ? <ThreadPane place={place} /> : <NoThread />}
        {uuid && <PersonPane place={place} />}
      </div>
      {bulkWork.value && <BulkProgress />}
    </div>
  )
}
