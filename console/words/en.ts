import type { words as parts } from './en/parts.ts'

/** The texts of a whole language: a translation is a value of this type. Every section adds one line. */
export type Catalogue = {
  readonly parts: typeof parts
}
