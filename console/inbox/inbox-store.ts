import { batch, type Signal, signal } from '@preact/signals'
import type { LiveEvent } from '../live/log-position.ts'
import { type Changes, changesOf, type InboxSnapshot, laterLast, newerOf } from './inbox-changes.ts'
import type { Conversation, Item } from './inbox-types.ts'
import { type ListWindow, mergeItems, placeInWindow } from './item-order.ts'
import { isInList, type ListQuery, sortKeyOf } from './list-query.ts'

// The conversations, threads and lists that the page has loaded. Each is a signal: an event draws only what it changes.

export type Thread = {
  /** Oldest first. */
  readonly items: readonly Item[]
  /** For older items; undefined at the beginning of the conversation. */
  readonly older: string | undefined
  /** For newer items, when the thread was opened at an old one; undefined at its end. */
  readonly newer: string | undefined
}

export type ListState = ListWindow & { readonly query: ListQuery }

/** Threads and lists that are kept. The ones that were used last stay. */
const most = { threads: 20, lists: 12, conversations: 3_000 }

const conversations = new Map<string, Signal<Conversation>>()
const byCounterpart = new Map<string, string>()
const threads = new Map<string, Signal<Thread | undefined>>()
const lists = new Map<string, Signal<ListState | undefined>>()

/** The list that the page shows. The others are read again when they are shown. */
export const shownList: { query: ListQuery | undefined } = { query: undefined }

/** The user of the session; empty for a key. */
export const viewer = signal('')

/** The conversation that is open, and whether the person looks at its end. */
export const open = signal<{ readonly uuid: string; readonly isAtEnd: boolean }>({ uuid: '', isAtEnd: false })

/** Readings that events make necessary: set by the loader. */
export const readers = {
  conversations: (_uuids: readonly string[]): void => {},
  threads: (_uuids: readonly string[]): void => {},
  item: (_conversation: string, _item: string): void => {},
  lists: (): void => {},
}

/** Returns the signal of a key, and makes it the one that was used last. */
const used = <T>(map: Map<string, Signal<T>>, key: string, first: T, limit: number): Signal<T> => {
  const found = map.get(key) ?? signal(first)
  map.delete(key)
  map.set(key, found)
  const [oldest] = map.keys()
  if (map.size > limit && oldest !== undefined) map.delete(oldest)
  return found
}

export const threadOf = (conversation: string): Signal<Thread | undefined> =>
  used(threads, conversation, undefined, most.threads)

export const keyOfQuery = (query: ListQuery): string =>
  JSON.stringify(
    Object.entries(query)
      .filter(([, value]) => value !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  )

export const listOf = (query: ListQuery): Signal<ListState | undefined> =>
  used(lists, keyOfQuery(query), undefined, most.lists)

/** Rises with each conversation that is new here: what waits for one draws again. */
const arrivals = signal(0)

export const conversationOf = (uuid: string): Conversation | undefined => {
  const found = conversations.get(uuid)
  // Reading subscribes.
  if (!found) void arrivals.value
  return found?.value
}

/** The conversation, for what must not draw again when it changes. */
export const peekConversation = (uuid: string): Conversation | undefined => conversations.get(uuid)?.peek()

const placeIn = (list: Signal<ListState | undefined>, conversation: Conversation, isNew = false): void => {
  const state = list.peek()
  if (!state) return
  const isMember = isInList(state.query, conversation, viewer.peek())
  if (isMember === undefined) return
  const keyOf = (id: string) => {
    const found = peekConversation(id)
    return found && sortKeyOf(state.query, found)
  }
  const window = placeInWindow(state, conversation.uuid, isMember, keyOf, isNew)
  if (window !== state) list.value = { ...state, ids: window.ids }
}

/** For each list whose answer is on its way, the conversations that come or change meanwhile: they may be newer. */
const readings = new Set<Set<string>>()

const placeInAll = (conversation: Conversation, isNew = false): void => {
  for (const came of readings) came.add(conversation.uuid)
  for (const list of lists.values()) placeIn(list, conversation, isNew)
}

let trimmedAt = most.conversations

/** Forgets conversations that no list and no thread shows, once there are very many, or many more than last time. */
const trim = (): void => {
  if (conversations.size <= trimmedAt) return
  const shown = new Set([...threads.keys(), ...[...lists.values()].flatMap((list) => list.peek()?.ids ?? [])])
  for (const [uuid, { value }] of conversations) {
    if (shown.has(uuid)) continue
    conversations.delete(uuid)
    byCounterpart.delete(value.counterpart)
  }
  trimmedAt = Math.max(most.conversations, conversations.size + most.conversations / 4)
}

/** Takes over conversations, and moves them within the lists. @param isWhole they come from an answer, with all fields */
export const putConversations = (added: readonly Conversation[], isWhole = true): void =>
  batch(() => {
    for (const conversation of added) {
      const found = conversations.get(conversation.uuid)
      const current = found?.peek()
      // A list has one channel only; all of them came with the conversation itself.
      const channels =
        current && current.channels.length > conversation.channels.length ? current.channels : conversation.channels
      const isOlder = current !== undefined && conversation.version < current.version
      if (isOlder || (!isWhole && newerOf(current, conversation) === undefined)) continue
      const next = { ...conversation, channels, last: laterLast(current?.last, conversation.last) }
      if (found) found.value = next
      else {
        conversations.set(conversation.uuid, signal(next))
        arrivals.value = arrivals.peek() + 1
      }
      byCounterpart.set(conversation.counterpart, conversation.uuid)
      placeInAll(next, found === undefined)
    }
    trim()
  })

type ListAnswer = { readonly conversations: readonly Conversation[]; readonly next_cursor?: string | undefined }

/** Replaces the rows of a list by those that `read` returns, and by what comes meanwhile. */
export const replaceList = async (query: ListQuery, read: () => Promise<ListAnswer>): Promise<void> => {
  const came = new Set<string>()
  readings.add(came)
  const answer = await read().finally(() => readings.delete(came))
  batch(() => {
    putConversations(answer.conversations)
    const list = listOf(query)
    list.value = { query, ids: answer.conversations.map(({ uuid }) => uuid), cursor: answer.next_cursor }
    for (const uuid of came) {
      const conversation = peekConversation(uuid)
      if (conversation) placeIn(list, conversation)
    }
  })
}

/** Fields of a conversation that are shown before the server has confirmed them; undefined: absent. */
export type OptimisticFields = { readonly [K in keyof Conversation]?: Conversation[K] | undefined }

/** Changes fields of a conversation at once, before the server has answered. Returns the function that undoes it. */
export const changeAtOnce = (uuid: string, change: OptimisticFields): (() => void) => {
  const found = conversations.get(uuid)
  if (!found) return () => {}
  const before = found.peek()
  batch(() => {
    // An absent field and one that is undefined mean the same.
    found.value = { ...before, ...change } as Conversation
    placeInAll(found.peek())
  })
  return () => {
    if (found.peek().version !== before.version) return
    batch(() => {
      found.value = before
      placeInAll(before)
    })
  }
}

/** Items that come while the answer with a thread is on its way: they may be newer than it. */
const meanwhile = new Map<string, Item[]>()

/** Replaces the items of a thread by those that `read` returns, and by what comes meanwhile. */
export const replaceThread = async (conversation: string, read: () => Promise<Thread>): Promise<void> => {
  const came: Item[] = []
  meanwhile.set(conversation, came)
  try {
    const state = await read()
    threadOf(conversation).value = { ...state, items: mergeItems(state.items, state.newer === undefined ? came : []) }
  } finally {
    if (meanwhile.get(conversation) === came) meanwhile.delete(conversation)
  }
}

/** Adds items to a thread that is loaded. */
export const putItems = (conversation: string, items: readonly Item[]): void => {
  meanwhile.get(conversation)?.push(...items)
  const thread = threads.get(conversation)
  const state = thread?.peek()
  // A thread that was opened at an old item does not have its end yet.
  if (!thread || !state || state.newer !== undefined) return
  thread.value = { ...state, items: mergeItems(state.items, items) }
}

/** False in tests without a browser. */
const isVisible = (): boolean =>
  (globalThis as { readonly document?: { readonly visibilityState: string } }).document?.visibilityState === 'visible'

const known: InboxSnapshot = {
  conversation: peekConversation,
  withCounterpart: (counterpart) => peekConversation(byCounterpart.get(counterpart) ?? ''),
  items: (conversation) => threads.get(conversation)?.peek()?.items ?? meanwhile.get(conversation),
  isRead: (conversation) => open.peek().uuid === conversation && open.peek().isAtEnd && isVisible(),
}

/** Carries out what an event means. */
export const applyChanges = ({ conversations: changed, items, missing, behind, awaited, state }: Changes): void =>
  batch(() => {
    putConversations(changed, false)
    if (state) changeAtOnce(state.conversation, { last: state.last })
    for (const each of items) putItems(each.conversation, each.items)
    // An event has no channels: STOP and START change them.
    const isOpenChanged = changed.some(({ uuid }) => uuid === open.peek().uuid)
    const outdated = isOpenChanged ? [...missing, open.peek().uuid] : missing
    if (outdated.length > 0) readers.conversations(outdated)
    if (behind.length > 0) readers.threads(behind)
    if (awaited) readers.item(awaited.conversation, awaited.item)
    // A search knows its members on the server only.
    if (changed.length > 0 && shownList.query?.q !== undefined) readers.lists()
  })

export const applyEvent = (event: LiveEvent): void => applyChanges(changesOf(event, known))

/** Channels of the conversations that are loaded. */
export const knownChannels = (): readonly { readonly uuid: string; readonly number: string }[] => {
  const found = new Map<string, string>()
  for (const { value } of conversations.values())
    for (const { channel_uuid, phone_number } of value.channels) found.set(channel_uuid, phone_number)
  return [...found].map(([uuid, number]) => ({ uuid, number }))
}

/** Forgets everything: another account. */
export const forgetAll = (): void => {
  conversations.clear()
  byCounterpart.clear()
  threads.clear()
  lists.clear()
  trimmedAt = most.conversations
}
