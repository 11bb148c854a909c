import type { Item } from './inbox-types.ts'

// The order of a thread and of a list. Pure, so that it is tested without a browser.

/** The part of an identifier that is ordered by time: a UUID of version 7 behind three letters. */
export const timeKey = (uuid: string): string => uuid.slice(3)

export const compareIds = (a: string, b: string): number => {
  const [left, right] = [timeKey(a), timeKey(b)]
  return left < right ? -1 : left > right ? 1 : 0
}

/** Milliseconds since 1970: the beginning of a UUIDv7. */
export const createdAt = ({ uuid }: { readonly uuid: string }): number =>
  Number.parseInt(timeKey(uuid).slice(0, 13).replace('-', ''), 16)

/** Inserts items by their time; an item that is there already is replaced. */
export const mergeItems = (items: readonly Item[], added: readonly Item[]): readonly Item[] => {
  if (added.length === 0) return items
  const byId = new Map(items.map((item) => [item.uuid, item]))
  // An item that did not change stays the same object, so it is not drawn again.
  for (const item of added) if (JSON.stringify(byId.get(item.uuid)) !== JSON.stringify(item)) byId.set(item.uuid, item)
  return [...byId.values()].sort((a, b) => compareIds(a.uuid, b.uuid))
}

/** A window of loaded pages: the list may go on behind `cursor`. */
export type ListWindow = { readonly ids: readonly string[]; readonly cursor: string | undefined }

/** A place in a list: the first value decides, the identifier breaks ties. */
export type SortKey = { readonly value: string; readonly id: string; readonly isDescending: boolean }

const compareKeys = (a: SortKey, b: SortKey): number => {
  const order = a.value < b.value ? -1 : a.value > b.value ? 1 : compareIds(a.id, b.id)
  return a.isDescending ? -order : order
}

/**
 * Moves a conversation to its place in a window, or out of it. A place behind the last loaded row is outside while
 * the list has more pages: the next page brings the conversation. The place is searched by halves: with 20,000 rows,
 * comparing all of them takes 20 ms for each conversation of a page.
 * @param isNew the page did not have the conversation yet, so no window has it
 */
export const placeInWindow = (
  window: ListWindow,
  id: string,
  isMember: boolean,
  keyOf: (id: string) => SortKey | undefined,
  isNew = false,
): ListWindow => {
  const before = isNew ? -1 : window.ids.indexOf(id)
  const rest = before < 0 ? window.ids : window.ids.toSpliced(before, 1)
  const without = before < 0 ? window : { ...window, ids: rest }
  const key = isMember ? keyOf(id) : undefined
  if (key === undefined) return without
  let [place, end] = [0, rest.length]
  while (place < end) {
    const middle = (place + end) >> 1
    const other = keyOf(rest[middle] ?? '')
    if (other !== undefined && compareKeys(key, other) < 0) end = middle
    else place = middle + 1
  }
  if (place === before) return window
  if (place === rest.length && window.cursor !== undefined) return without
  return { ...window, ids: rest.toSpliced(place, 0, id) }
}
