import type { Services } from '../../services.ts'
import { changeContactNumber } from '../contacts/ops.ts'
import { changeNumber } from '../inbox/number-change/ops.ts'
import { withDeadLetters } from './dead-letters/ops.ts'
import { makeGroupHandlers } from './groups/group-events.ts'
import { type InboundHandlers, withCanonicalNumbers } from './inbound-handlers.ts'
import { makeInboundMessages } from './messages/inbound/inbound-messages.ts'
import { makeReceiptHandlers } from './messages/inbound/receipts.ts'

/** Builds handlers that store events, and throw if that fails. */
export const makeStoringHandlers = ({ db, clock, chat: { loadViewContext } }: Services): InboundHandlers => {
  const incoming = makeInboundMessages({ db, clock, loadViewContext })
  const { group, member } = makeGroupHandlers(db)
  return withCanonicalNumbers({
    ...incoming,
    ...makeReceiptHandlers(db, loadViewContext),
    group,
    mapped: async (channelRef, remote, number) => {
      await incoming.mapped(channelRef, remote, number)
      await member(channelRef, remote, number)
    },
    renamed: async (channelRef, before, number) => {
      await incoming.renamed(channelRef, before, number)
      await member(channelRef, before, number)
      // A transaction of its own: no holder of a chat waits for a conversation (docs/locks.md).
      if (before !== number)
        await db.begin(async (tx) => {
          await changeContactNumber(tx, channelRef.account, before, number)
          await changeNumber(tx, channelRef.account, before, number)
        })
    },
  })
}

export const makeInboundHandlers = (parts: Services): InboundHandlers =>
  withDeadLetters(parts, makeStoringHandlers(parts))
