import { signal } from '@preact/signals'

// Conversations that the person has selected, and the row that the keyboard is at.

/** Single ones; empty while `isAllSelected`. */
export const selection = signal<ReadonlySet<string>>(new Set())
/** True: all that match, also those that are not loaded. */
export const isAllSelected = signal(false)
/** The row of the keyboard. */
export const cursor = signal('')

/** Rows of the list in their order: set by the list. */
export const rows: { current: readonly string[] } = { current: [] }

let anchor = ''

export const isSelected = (uuid: string): boolean => isAllSelected.value || selection.value.has(uuid)

export const clearSelection = (): void => {
  selection.value = new Set()
  isAllSelected.value = false
}

export const selectAll = (): void => {
  if (rows.current.length === 0) return
  selection.value = new Set(rows.current)
  isAllSelected.value = true
}

const between = (from: string, to: string): readonly string[] => {
  const [a, b] = [rows.current.indexOf(from), rows.current.indexOf(to)]
  return a < 0 || b < 0 ? [to] : rows.current.slice(Math.min(a, b), Math.max(a, b) + 1)
}

/** Selects a conversation or ends it. @param isRange from the last one to this */
export const toggleSelected = (uuid: string, isRange = false): void => {
  const next = new Set(selection.peek())
  isAllSelected.value = false
  if (isRange && anchor) for (const each of between(anchor, uuid)) next.add(each)
  else if (next.has(uuid)) next.delete(uuid)
  else next.add(uuid)
  anchor = uuid
  selection.value = next
}

/** The row after or before another one. */
export const rowBeside = (uuid: string, step: 1 | -1): string | undefined => {
  const index = rows.current.indexOf(uuid)
  return index < 0 ? rows.current[0] : rows.current[index + step]
}
