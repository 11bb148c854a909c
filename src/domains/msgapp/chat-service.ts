import type { InvalidationBus } from '../../platform/db/invalidation-bus.ts'
import type { Db } from '../../platform/db/sql.ts'
import { type Media, type MediaDeps, makeMedia } from './media/ops.ts'
import type { ViewContextLoader } from './messages/message-presenter.ts'
import { type AcceptMessage, makeAccept } from './messages/outbound/accept.ts'
import { makeSenderCache, type SenderCache } from './messages/outbound/sender-cache.ts'
import { makeViewContextLoader } from './messages/view-context.ts'

/** Parts of the messaging app that run in each process. */
export type Chat = {
  readonly accept: AcceptMessage
  readonly senders: SenderCache
  readonly media: Media
  /** Lookup of what messages are presented with. */
  readonly loadViewContext: ViewContextLoader
}

export const makeChat = (parts: MediaDeps & { readonly db: Db; readonly changes: InvalidationBus }): Chat => {
  const media = makeMedia(parts)
  return {
    accept: makeAccept(parts.db),
    senders: makeSenderCache(parts.db, parts.changes),
    media,
    loadViewContext: makeViewContextLoader(media.links),
  }
}
