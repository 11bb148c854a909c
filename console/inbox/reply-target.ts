import { signal } from '@preact/signals'
import { expectField } from '../shell/expected-field.ts'
import type { Item } from './inbox-types.ts'

/** The message that the person answers, until the answer is sent. */
export const replyTo = signal<{ readonly conversation: string; readonly item: Item } | null>(null)

/** The request to the box of the open conversation to take the focus; null once it has it. */
export const focusRequest = signal<'message' | 'note' | null>(null)

/** Lets the box of the open conversation take the focus: at once, or as soon as it is there. */
export const focusReply = (kind: 'message' | 'note'): void => {
  const box = document.querySelector<HTMLElement>('.box-text')
  focusRequest.value = kind
  if (box) box.focus()
  else expectField()
}
