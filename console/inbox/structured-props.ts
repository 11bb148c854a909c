import type { ComponentChildren } from 'preact'
import type { Item } from './inbox-types.ts'

export type MessageContent = NonNullable<NonNullable<Item['message']>['message']['content']>

/** A message with structured content, as its view takes it. */
export type StructuredProps = {
  readonly content: MessageContent
  /** The other party; undefined in a group, where the author of a quoted message is not known. */
  readonly author: string | undefined
  /** Text and file of the message. */
  readonly plain: ComponentChildren
}
