import { effect, signal, untracked } from '@preact/signals'
import { account, session } from '../api/session.ts'
import unreadIcon from '../icon-unread.svg'
import { words } from '../words/en/notifications.ts'
import { followTopic } from './live-topics.ts'
import type { LiveEvent } from './log-position.ts'
import { isQuietNow, notificationChoices } from './notification-choices.ts'
import { notificationOf, type PushMessage } from './push-messages.ts'
import { onEvent, onLiveFrame, sendLiveFrame } from './socket.ts'
import { playSound } from './sound.ts'

// Signals of the page to a person who looks elsewhere: a count in the title, a dot in the icon, a sound, and the same
// notification that Web Push shows once all pages are closed or hidden for 30 s.

/** Milliseconds between reports of a visible page. */
const reportEvery = 15_000
/** Age in milliseconds beyond which a message is no news: a resumed line repeats old events. */
const newsFor = 60_000
/** Attempts to show a notification, and milliseconds between them. */
const showAttempts = 4
const showPause = 500

/** Conversations with news since the person looked at the page. */
const news = signal<ReadonlySet<string>>(new Set())

/** Address of the icon without the dot. */
const plainIcon = document.querySelector<HTMLLinkElement>('link[rel=icon]')?.href ?? ''

/** True while the person looks elsewhere. */
export const isAway = (): boolean => document.visibilityState !== 'visible' || !document.hasFocus()

const tagOf = (conversation: string): string => conversation.slice('CNV'.length)

const registration = async () =>
  'serviceWorker' in navigator ? navigator.serviceWorker.getRegistration('/console') : undefined

/** Tags of notifications that are shown, or are about to be. */
const activeTags = new Set<string>()

/** Withdraws the notification with a tag. */
export const withdraw = async (tag: string): Promise<void> => {
  activeTags.delete(tag)
  for (const each of (await (await registration())?.getNotifications({ tag })) ?? []) each.close()
}

/** Withdraws the notification of a conversation: the person sees it, or it was answered. */
export const closeNotification = (conversation: string): Promise<void> => {
  if (news.value.has(conversation)) news.value = new Set([...news.value].filter((each) => each !== conversation))
  return withdraw(tagOf(conversation))
}

/** Shows a notification, once the worker runs. A browser drops those that come while the worker starts. */
export const notify = async (message: PushMessage): Promise<void> => {
  if (!('Notification' in globalThis) || Notification.permission !== 'granted') return
  const { title, body, tag, url } = notificationOf(message)
  if (activeTags.size > 500) activeTags.clear()
  activeTags.add(tag)
  const worker = await navigator.serviceWorker.ready
  for (let attempt = 1; attempt <= showAttempts && activeTags.has(tag); attempt += 1) {
    await worker.showNotification(title, { body, tag, data: { url }, icon: plainIcon }).catch(() => {})
    if ((await worker.getNotifications({ tag })).length > 0) break
    await new Promise((resolve) => setTimeout(resolve, showPause))
  }
  // The notification was withdrawn meanwhile.
  if (!activeTags.has(tag)) await withdraw(tag)
}

type Conversation = {
  readonly uuid?: string
  readonly status?: string
  readonly assignee_uuid?: string
  readonly waiting_since?: string
  readonly by_user_uuid?: string
  readonly last?: {
    readonly kind?: string
    readonly direction?: string
    readonly at?: string
    readonly item_uuid?: string
  }
  readonly item?: { readonly note?: { readonly mentions?: readonly string[] } }
}

/** Last items that were reported, so that a change of the conversation reports none twice. */
const reported = new Map<string, string>()

const kindOf = (event: LiveEvent, data: Conversation, user: string | undefined): PushMessage['kind'] | null => {
  const choices = notificationChoices()
  const { last, assignee_uuid: assignee } = data
  if (data.by_user_uuid !== undefined && data.by_user_uuid === user) return null
  if (event.name === 'conversation.note.created')
    return choices.mentions && user && data.item?.note?.mentions?.includes(user) ? 'mention' : null
  if (event.name !== 'conversation.created' && event.name !== 'conversation.updated') return null
  const isMine = assignee === undefined || assignee === user
  const isFresh = last?.direction === 'inbound' && Date.now() - Date.parse(last.at ?? '') < newsFor
  if (!isMine || !isFresh || !data.waiting_since || !last?.item_uuid) return null
  if (data.uuid === undefined || reported.get(data.uuid) === last.item_uuid) return null
  reported.set(data.uuid, last.item_uuid)
  if (reported.size > 500) reported.clear()
  const isCall = last.kind === 'call' || last.kind === 'msgapp-call'
  if (isCall) return choices.calls ? 'missed_call' : null
  return choices.messages ? 'message' : null
}

const onConversation = (event: LiveEvent): void => {
  // As the contract of these events says.
  const data = event.data as Conversation
  const { uuid, status, waiting_since: waits } = data
  if (!uuid) return
  if (event.name === 'conversation.updated' && (status !== 'open' || !waits)) void closeNotification(uuid)
  const kind = kindOf(event, data, account.value?.user_uuid)
  if (!kind || isQuietNow()) return
  if (notificationChoices().sound_messages) playSound('messages')
  if (!isAway()) return
  news.value = new Set([...news.value, uuid])
  void notify({
    kind,
    tag: tagOf(uuid),
    account: account.value?.uuid ?? '',
    conversation: uuid,
    count: news.value.size,
  })
}

const reportVisibility = (): void =>
  sendLiveFrame({ type: 'visibility', visible: document.visibilityState === 'visible' })

const lookedAt = (): void => {
  if (!isAway() && news.value.size > 0) news.value = new Set()
}

const showCount = (): void => {
  const plain = document.title.replace(/^\(\d+\) /, '')
  const { size } = news.value
  const title = size > 0 ? words.news(size, plain) : plain
  if (document.title !== title) document.title = title
  const icon = document.querySelector<HTMLLinkElement>('link[rel=icon]')
  const address = size > 0 ? new URL(unreadIcon, location.href).href : plainIcon
  if (icon && icon.href !== address) icon.href = address
}

/** Begins to report to the person. Call once. */
export const startAttention = (): void => {
  const title = document.querySelector('title')
  // Pages set the title, and do not know of the count.
  if (title) new MutationObserver(showCount).observe(title, { childList: true })
  effect(showCount)
  effect(() => {
    if (!session.value?.person || !account.value?.capabilities.includes('inbox')) return
    // Following reads and writes the topics of all components, which are no reason to run again.
    const end = untracked(() => followTopic('inbox'))
    return () => untracked(end)
  })
  onEvent((event) => {
    if (event.name.startsWith('conversation.')) onConversation(event)
  })
  onLiveFrame((frame) => {
    if (frame.type === 'subscribed' && document.visibilityState === 'visible') reportVisibility()
  })
  setInterval(() => document.visibilityState === 'visible' && reportVisibility(), reportEvery)
  document.addEventListener('visibilitychange', () => {
    reportVisibility()
    lookedAt()
  })
  addEventListener('focus', lookedAt)
  reportVisibility()
}
