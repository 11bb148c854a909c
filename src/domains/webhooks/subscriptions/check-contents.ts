import { contentsIn, showsWhole } from '../../events/contents/ops.ts'
import type { Contents } from '../../inbox/narrowing/ops.ts'
import { refusals } from '../refusals.ts'

/** Rights that show each kind of contents. */
const rights: { readonly [kind in keyof Contents]: string } = {
  messages: 'inbox and inbox.all',
  recordings: 'read_only, or inbox and inbox.all',
}

/**
 * Checks that a caller may send events of this name to another address than before: the owner of the address reads
 * the events from then on. @throws the 403 Problem
 */
export const checkContents = (name: string, contents: Contents): void => {
  const kind = contentsIn(name)
  if (kind !== null && !showsWhole(name, contents)) throw refusals.contentsNotVisible(name, rights[kind])
}
