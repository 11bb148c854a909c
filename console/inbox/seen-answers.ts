import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { peekConversation, threadOf } from './inbox-store.ts'
import type { Item } from './inbox-types.ts'
import { compareIds, createdAt, mergeItems } from './item-order.ts'
import { moved } from './moved-messages.ts'
import { isAnswerOfAnother, type MessageBody } from './outbox-rules.ts'
import { ownUser } from './team-members.ts'

// Answers of others that the person has seen. An answer that is loaded, but below the visible part of the thread or there
// for a moment only, is not seen: a reply states the newest message that its author has seen, and the server refuses it
// when an answer came after that.

/** Milliseconds for which an answer must be visible. */
const seenAfter = 1_000
/** Milliseconds between two looks at what is visible. */
const lookEvery = 100
/** Ids that arrive late: a transaction that began earlier may end later. */
const lateMs = 2_000
/** Share of an answer that must be visible; a tall one may fill half of the thread instead. */
const visibleShare = 0.75
const mostVisits = 500

/** An id below that of every message. */
const nothingSeen = 'ITM00000000-0000-7000-8000-000000000000'

/** A stay in a conversation. Its earlier answers are history, but for the newest one. */
type Visit = {
  /** Milliseconds since 1970, in ids of the server. */
  readonly since: number
  readonly history: ReadonlySet<string>
  readonly seen: Set<string>
}

const visits = new Map<string, Visit>()
/** Rises when an answer becomes seen. */
const seenCount = signal(0)

/** Messages that this page has sent. Those of a session without a user name no author. */
const ownItems = new Set<string>()

/** Remembers a message that this page has sent. */
export const rememberOwn = (item: string): void => {
  if (ownItems.size >= mostVisits) ownItems.clear()
  ownItems.add(item)
}

/** True for a message that a colleague, or a program, has sent. */
export const isAnswer = (item: Item): boolean =>
  (item.kind === 'sms' || item.kind === 'msgapp') && isAnswerOfAnother(item, ownUser.peek()) && !ownItems.has(item.uuid)

/** Items of the thread, and those that the server named when it refused a reply, oldest first. */
const itemsOf = (conversation: string): readonly Item[] => {
  const shown = threadOf(conversation).peek()?.items ?? []
  return mergeItems(shown, moved.peek().get(conversation) ?? [])
}

const isUnseen = ({ since, history, seen }: Visit, item: Item): boolean =>
  isAnswer(item) && createdAt(item) > since - lateMs && !history.has(item.uuid) && !seen.has(item.uuid)

/** Answers in a conversation that the person has not seen, oldest first. */
export const unseenAnswers = (conversation: string): readonly Item[] => {
  void seenCount.value
  const visit = visits.get(conversation)
  return visit ? itemsOf(conversation).filter((item) => isUnseen(visit, item)) : []
}

/**
 * Begins a stay in a conversation whose thread is loaded. The newest answer must be seen, if it came since the last stay,
 * or after the last message of the person: what came before it is history.
 */
export const beginVisit = (conversation: string): void => {
  const before = visits.get(conversation)
  const items = itemsOf(conversation)
  const inbound = items.findLast(({ direction }) => direction === 'inbound')
  const newest = items.findLast(isAnswer)
  const isNew =
    newest !== undefined &&
    (before ? isUnseen(before, newest) : inbound === undefined || compareIds(newest.uuid, inbound.uuid) > 0)
  const last = isNew ? newest : items.at(-1)
  visits.delete(conversation)
  visits.set(conversation, {
    since: last ? createdAt(last) : 0,
    history: new Set(items.filter((item) => isAnswer(item) && !(isNew && item === newest)).map(({ uuid }) => uuid)),
    seen: new Set(),
  })
  const [oldest] = visits.keys()
  if (visits.size > mostVisits && oldest !== undefined) visits.delete(oldest)
}

/** Moments since which answers are visible without a break. */
const visibleSince = new Map<string, number>()
/** Elements that may be visible, with the ids of the answers that they show. */
const watched = new Map<Element, readonly string[]>()

/** True if enough of an element is in view, and nothing lies over the middle of that. A modal dialog lies over all. */
const isVisible = (element: Element): boolean => {
  const box = (element.closest('[role=log]') ?? document.documentElement).getBoundingClientRect()
  const { left, right, top, bottom, height } = (element.querySelector('.bubble') ?? element).getBoundingClientRect()
  const from = Math.max(0, box.top, top)
  const to = Math.min(innerHeight, box.bottom, bottom)
  return (
    document.visibilityState === 'visible' &&
    to - from >= Math.min(height * visibleShare, box.height / 2, innerHeight / 2) &&
    element.contains(document.elementFromPoint((left + right) / 2, (from + to) / 2))
  )
}

/** Takes the answers that were visible for long enough as seen. */
const noteVisible = (conversation: string): void => {
  const now = performance.now()
  const shown = new Set([...watched].flatMap(([element, ids]) => (isVisible(element) ? ids : [])))
  for (const uuid of visibleSince.keys()) if (!shown.has(uuid)) visibleSince.delete(uuid)
  for (const uuid of shown) visibleSince.set(uuid, visibleSince.get(uuid) ?? now)
  const { seen } = visits.get(conversation) ?? {}
  const added = unseenAnswers(conversation).filter(({ uuid }) => now - (visibleSince.get(uuid) ?? now) >= seenAfter)
  for (const { uuid } of added) seen?.add(uuid)
  if (added.length > 0) seenCount.value = seenCount.peek() + 1
}

/**
 * Watches how long elements with unseen answers are visible.
 * @param elements with the ids of the answers that each shows @param key changes with the elements
 */
export const useSeenAnswers = (
  conversation: string,
  key: string,
  elements: () => ReadonlyMap<Element, readonly string[]>,
): void => {
  // Nobody looks between two stays: that time does not count.
  useEffect(() => () => visibleSince.clear(), [conversation])
  useEffect(() => {
    if (key === '') return
    const own = elements()
    for (const [element, ids] of own) watched.set(element, ids)
    const note = () => noteVisible(conversation)
    note()
    const timer = setInterval(note, lookEvery)
    document.addEventListener('visibilitychange', note)
    return () => {
      clearInterval(timer)
      document.removeEventListener('visibilitychange', note)
      for (const element of own.keys()) watched.delete(element)
    }
  }, [conversation, key])
}

/** The newest message up to which the person has seen every answer, and the newest answer up to there. */
export const seenUntil = (conversation: string): Required<Pick<MessageBody, 'seen' | 'seen_answer'>> => {
  // The list shows the last message of a thread that is not loaded yet.
  if (threadOf(conversation).peek() === undefined) {
    const { last } = peekConversation(conversation) ?? {}
    const seen = last?.direction === 'inbound' ? last.item_uuid : nothingSeen
    return { seen, seen_answer: seen }
  }
  noteVisible(conversation)
  const [first] = unseenAnswers(conversation)
  const all = itemsOf(conversation)
  const items = first ? all.filter(({ uuid }) => compareIds(uuid, first.uuid) < 0) : all
  const answer = items.findLast(({ direction }) => direction === 'outbound') ?? items[0]
  return { seen: items.at(-1)?.uuid ?? nothingSeen, seen_answer: answer?.uuid ?? nothingSeen }
}
