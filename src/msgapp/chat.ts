import type { Changes } from '../db/changes.ts'
import type { Db } from '../db/sql.ts'
import { type Media, type MediaParts, makeMedia } from './media/ops.ts'
import { type Accept, makeAccept } from './messages/accept.ts'
import { makeSurroundings } from './messages/around.ts'
import { type Lines, makeLines } from './messages/lines.ts'
import type { Surroundings } from './messages/shown.ts'

/** What the messaging app keeps running in each process. */
export type Chat = {
  readonly accept: Accept
  readonly lines: Lines
  readonly media: Media
  /** What messages are shown with. */
  readonly surroundings: Surroundings
}

export const makeChat = (parts: MediaParts & { readonly db: Db; readonly changes: Changes }): Chat => {
  const media = makeMedia(parts)
  return {
    accept: makeAccept(parts.db),
    lines: makeLines(parts.db, parts.changes),
    media,
    surroundings: makeSurroundings(media.links),
  }
}
