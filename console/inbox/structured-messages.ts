import { signal } from '@preact/signals'
import type { ComponentType } from 'preact'
import { loadStyle } from '../shell/styles.ts'
import type { StructuredProps } from './structured-props.ts'

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
