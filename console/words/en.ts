import type { words as channels } from './en/channels.ts'
import type { words as developers } from './en/developers.ts'
import type { words as parts } from './en/parts.ts'
import type { words as people } from './en/people.ts'
import type { words as settings } from './en/settings.ts'
import type { words as shell } from './en/shell.ts'
import type { words as signIn } from './en/sign-in.ts'
import type { words as you } from './en/you.ts'

/** The texts of a whole language: a translation is a value of this type. Every section adds one line. */
export type Catalogue = {
  readonly channels: typeof channels
  readonly developers: typeof developers
  readonly parts: typeof parts
  readonly people: typeof people
  readonly settings: typeof settings
  readonly signIn: typeof signIn
  readonly shell: typeof shell
  readonly you: typeof you
}
