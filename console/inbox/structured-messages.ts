import { signal } from '@preact/signals'
import type { ComponentChildren, ComponentType } from 'preact'
import { loadStyle } from '../shell/styles.ts'
import type { Item } from './inbox-types.ts'

export type MessageContent = NonNullable<NonNullable<Item['message']>['message']['content']>

export type StructuredProps = {
  readonly content: MessageContent
  /** The other party; undefined in a group, where the author of a quoted message is not known. */
  readonly author: string | undefined
  /** Text and file of the message. */
  readonly plain: ComponentChildren
}

/** The view of structured content, once its code is here: most threads have none. */
export const structured = signal<ComponentType<StructuredProps> | null>(null)

let loading: Promise<void> | null = null

/** Loads the view with the first message that needs it; a failed load is repeated with the next one. */
export const loadStructured = (): Promise<void> => {
  loading ??= Promise.all([import('./message-content.tsx'), loadStyle('inbox/message-content')])
    .then(([{ StructuredMessage }]) => {
      structured.value = StructuredMessage
    })
    .catch(() => {
      loading = null
    })
  return loading
}
