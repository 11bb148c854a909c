import type { words as developers } from './en/developers.ts'
import type { words as events } from './en/events.ts'
import type { words as parts } from './en/parts.ts'
import type { words as shell } from './en/shell.ts'
import type { words as signIn } from './en/sign-in.ts'
import type { words as start } from './en/start.ts'
import type { words as webhooks } from './en/webhook-portal.ts'
import type { words as you } from './en/you.ts'

/** The texts of a whole language: a translation is a value of this type. Every section adds one line. */
export type Catalogue = {
  readonly developers: typeof developers
  readonly events: typeof events
  readonly parts: typeof parts
  readonly signIn: typeof signIn
  readonly shell: typeof shell
  readonly start: typeof start
  readonly webhooks: typeof webhooks
  readonly you: typeof you
}
