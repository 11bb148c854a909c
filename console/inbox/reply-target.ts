import { signal } from '@preact/signals'
import type { Item } from './inbox-types.ts'

/** The message that the person answers, until the answer is sent. */
export const replyTo = signal<{ readonly conversation: string; readonly item: Item } | null>(null)

/** Asks the box of the open conversation to take the focus. The number makes each request a change. */
export const focusBox = signal<{ readonly kind: 'message' | 'note'; readonly n: number }>({ kind: 'message', n: 0 })

export const focusReply = (kind: 'message' | 'note'): void => {
  focusBox.value = { kind, n: focusBox.peek().n + 1 }
}
