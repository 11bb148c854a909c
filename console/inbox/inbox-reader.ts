import { batch, signal } from '@preact/signals'
import { api, type RequestOf } from '../api/client.ts'
import { type ApiError, asApiError } from '../api/errors.ts'
import { requestContext } from '../api/send.ts'
import {
  keyOfQuery,
  listOf,
  open,
  putConversations,
  putItems,
  readers,
  replaceList,
  replaceThread,
  shownList,
  threadOf,
} from './inbox-store.ts'
import { compareIds, mergeItems } from './item-order.ts'
import type { ListQuery } from './list-query.ts'

// Reads lists, threads and conversations into the store.

const pageSize = 50
/** Rows of the further pages of a list: a wheel passes 50 in a moment. */
const furtherSize = 200

/** Faults by what was to be read: the key of a query, or a conversation. */
export const faults = signal<ReadonlyMap<string, ApiError>>(new Map())
/** Pages that are on their way. */
export const busyWith = signal<ReadonlySet<string>>(new Set())

const setFault = (key: string, error: ApiError | undefined): void => {
  if (!error && !faults.peek().has(key)) return
  const next = new Map(faults.peek())
  if (error) next.set(key, error)
  else next.delete(key)
  faults.value = next
}

const under = new Map<string, Promise<void>>()

/** Fails once the page shows another account: the answer belongs to none of its lists. */
const own = async <T>(answer: Promise<T>): Promise<T> => {
  const { account } = requestContext
  const found = await answer
  if (account !== requestContext.account) throw new Error(account)
  return found
}

/** Reads once at a time for each key, and keeps the fault for the place that shows it. */
const once = (key: string, place: string, act: () => Promise<void>): Promise<void> => {
  const { account } = requestContext
  const name = account + key
  const running = under.get(name)
  if (running) return running
  busyWith.value = new Set([...busyWith.peek(), key])
  const done = act()
    .then(() => setFault(place, undefined))
    .catch((error: unknown) => {
      if (account === requestContext.account) setFault(place, asApiError(error))
    })
    .finally(() => {
      under.delete(name)
      busyWith.value = new Set([...busyWith.peek()].filter((each) => each !== key))
    })
  under.set(name, done)
  return done
}

/** Waits for a reading that is under way: it may have begun before what is to be read was there. */
const anew = async (key: string, act: () => Promise<void>): Promise<void> => {
  await under.get(requestContext.account + key)
  return act()
}

const listPage = (query: ListQuery, cursor?: string) =>
  own(
    api('GET /open/conversations', {
      // The contract has the same fields.
      query: {
        ...query,
        results_per_page: cursor ? furtherSize : pageSize,
        cursor,
      } as RequestOf<'GET /open/conversations'>['query'] & object,
    }),
  )

/** Reads the first page of a list. Rows behind it are read again as the person scrolls. */
export const loadList = (query: ListQuery): Promise<void> => {
  const key = keyOfQuery(query)
  return once(`list ${key}`, key, () => replaceList(query, () => listPage(query)))
}

export const loadMore = (query: ListQuery): Promise<void> => {
  const key = keyOfQuery(query)
  const { cursor } = listOf(query).peek() ?? {}
  if (cursor === undefined) return Promise.resolve()
  return once(`more ${key}`, `more ${key}`, async () => {
    const page = await listPage(query, cursor)
    const list = listOf(query)
    const state = list.peek()
    // The list was read anew meanwhile.
    if (state?.cursor !== cursor) return
    batch(() => {
      putConversations(page.conversations)
      const ids = [...new Set([...(list.peek()?.ids ?? []), ...page.conversations.map(({ uuid }) => uuid)])]
      list.value = { query, ids, cursor: page.next_cursor }
    })
  })
}

export const loadConversation = (uuid: string): Promise<void> =>
  once(`conversation ${uuid}`, uuid, async () => {
    const { conversation } = await own(
      api('GET /open/conversations/:conversation_uuid', { params: { conversation_uuid: uuid } }),
    )
    putConversations([conversation])
  })

const itemPage = (uuid: string, query: { cursor?: string | undefined; around?: string; results_per_page?: number }) =>
  own(
    api('GET /open/conversations/:conversation_uuid/items', {
      params: { conversation_uuid: uuid },
      query: { results_per_page: pageSize, ...query },
    }),
  )

/** Reads the newest page of a thread, or the one around an item. */
export const loadThread = (uuid: string, around?: string): Promise<void> =>
  once(`thread ${uuid} ${around ?? ''}`, `thread ${uuid}`, async () => {
    await replaceThread(uuid, async () => {
      const page = await itemPage(uuid, around ? { around } : {})
      return { items: mergeItems([], page.items), older: page.next_cursor, newer: page.previous_cursor }
    })
  })

export const loadOlder = (uuid: string): Promise<void> => {
  const { older: cursor } = threadOf(uuid).peek() ?? {}
  if (cursor === undefined) return Promise.resolve()
  return once(`older ${uuid}`, `older ${uuid}`, async () => {
    const page = await itemPage(uuid, { cursor })
    const thread = threadOf(uuid)
    const state = thread.peek()
    if (state?.older === cursor)
      thread.value = { ...state, items: mergeItems(state.items, page.items), older: page.next_cursor }
  })
}

export const loadNewer = (uuid: string): Promise<void> => {
  const { newer: cursor } = threadOf(uuid).peek() ?? {}
  if (cursor === undefined) return Promise.resolve()
  return once(`newer ${uuid}`, `newer ${uuid}`, async () => {
    const page = await itemPage(uuid, { cursor })
    const thread = threadOf(uuid)
    const state = thread.peek()
    if (state?.newer === cursor)
      thread.value = { ...state, items: mergeItems(state.items, page.items), newer: page.previous_cursor }
  })
}

/** Reads the newest items of a thread again, and joins them to what is shown. */
const catchUp = (uuid: string): Promise<void> =>
  once(`newest ${uuid}`, `thread ${uuid}`, async () => {
    const state = threadOf(uuid).peek()
    if (!state || state.newer !== undefined) return
    const page = await itemPage(uuid, {})
    const oldest = page.items.at(-1)?.uuid
    const isJoined = page.next_cursor === undefined || state.items.some((item) => item.uuid === oldest)
    // More than a page came meanwhile: what is between would be missing.
    if (!isJoined && !page.items.some(({ uuid: id }) => state.items.some((item) => item.uuid === id)))
      threadOf(uuid).value = { items: mergeItems([], page.items), older: page.next_cursor, newer: undefined }
    else putItems(uuid, page.items)
  })

/** Milliseconds between two readings: the first event of a burst is read at once, and the others together. */
const gathering = 40
const waiting = { conversations: new Set<string>(), threads: new Set<string>(), lists: false }
let isScheduled = false
let lastRead = -gathering

const readNow = (): void => {
  isScheduled = false
  lastRead = performance.now()
  const [conversations, threads, lists] = [[...waiting.conversations], [...waiting.threads], waiting.lists]
  waiting.conversations.clear()
  waiting.threads.clear()
  waiting.lists = false
  for (const uuid of threads) void anew(`newest ${uuid}`, () => catchUp(uuid))
  // Many new ones are on the first page of the list. Other lists are read when they are shown.
  const { query } = shownList
  if (conversations.length <= 10 && !lists)
    for (const uuid of conversations) void anew(`conversation ${uuid}`, () => loadConversation(uuid))
  else if (query) void anew(`list ${keyOfQuery(query)}`, () => loadList(query))
}

const soon = (): void => {
  if (isScheduled) return
  isScheduled = true
  setTimeout(readNow, lastRead + gathering - performance.now())
}

readers.conversations = (uuids) => {
  for (const uuid of uuids) waiting.conversations.add(uuid)
  soon()
}
readers.threads = (uuids) => {
  for (const uuid of uuids) waiting.threads.add(uuid)
  soon()
}
readers.lists = () => {
  waiting.lists = true
  soon()
}

/** Milliseconds between looks for a message whose event came. The inbox takes it in within a second, later after a
 *  failure. */
const lookIntervals = [1_500, 5_000, 20_000]
/** Messages that are looked for at once. */
const maxAwaited = 50
const awaited = new Set<string>()

/**
 * Reads the place of a message that its thread lacks. Others may have come after it, so that the newest page does not
 * have it. @returns whether it is there, or comes with a page that the person has not loaded
 */
const lookFor = async (uuid: string, item: string): Promise<boolean> => {
  const isShown = () =>
    threadOf(uuid)
      .peek()
      ?.items.some((each) => each.uuid === item) ?? true
  const state = threadOf(uuid).peek()
  if (!state || state.newer !== undefined || isShown()) return true
  const beginning = state.older === undefined ? state.items[0] : undefined
  const near = state.items.findLast((each) => compareIds(each.uuid, item) < 0) ?? beginning
  if (!near) return true
  await once(`around ${uuid} ${near.uuid}`, `thread ${uuid}`, async () => {
    putItems(uuid, (await itemPage(uuid, { around: near.uuid })).items)
  })
  return isShown()
}

const lookUntilThere = async (uuid: string, item: string): Promise<void> => {
  for (const wait of lookIntervals) {
    await new Promise((resolve) => setTimeout(resolve, wait))
    if (await lookFor(uuid, item)) return
  }
}

readers.item = (uuid, item) => {
  if (awaited.has(item) || awaited.size >= maxAwaited) return
  awaited.add(item)
  void lookUntilThere(uuid, item).finally(() => awaited.delete(item))
}

/** Reads again what is shown: the line was away for longer than its log goes back. */
export const reloadShown = (): void => {
  readers.lists()
  const { uuid } = open.peek()
  if (!uuid) return
  void loadConversation(uuid)
  readers.threads([uuid])
}

/** Marks a conversation as read up to its newest item. */
export const markRead = async (uuid: string, until: string): Promise<void> => {
  try {
    await api('POST /open/conversations/:conversation_uuid/read', {
      params: { conversation_uuid: uuid },
      body: { until },
    })
  } catch {
    // The next item, or the next opening, marks it again.
  }
}
