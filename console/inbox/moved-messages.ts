import { signal } from '@preact/signals'
import type { Item } from './inbox-types.ts'

/** Messages that came back, because somebody answered meanwhile: what came, by conversation. */
export const moved = signal<ReadonlyMap<string, readonly Item[]>>(new Map())

export const setMoved = (conversation: string, items: readonly Item[] | undefined): void => {
  const next = new Map(moved.peek())
  if (items) next.set(conversation, items)
  else next.delete(conversation)
  moved.value = next
}
