import { ok, route } from '../../../platform/http/endpoint.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { print } from '../../../platform/lib/id.ts'
import type { Services } from '../../../services.ts'
import { narrowingOf } from '../../inbox/narrowing/ops.ts'
import { presentTimeline, publicationOf } from '../../timelines/ops.ts'
import { findMessage } from '../messages/find-message.ts'
import { refusals } from '../refusals.ts'
import * as c from './contract.ts'
import { messageFacts, messageVerdict } from './message-timeline.ts'
import * as store from './store.ts'

/** Routes of the timeline of a message. */
export const messageTimelineRoutes = ({ db, clock }: Services) => [
  route(c.getMessageTimeline, async ({ params: { session_key: key, message_uuid: printed }, ...call }) => {
    const { account } = call
    const narrowing = await narrowingOf(db, call, 'read_only')
    const { id } = await findMessage(db, account.id, key, printed, narrowing)
    const row = (await store.find(db, account.id, id)) ?? refuse(refusals.unknownMessage(printed))
    const publication = await publicationOf(db, account.id, {
      printed: print('MSG', id),
      conversation: `${row.channel_id} ${row.peer}`,
      id,
      moments: [row.created_at, row.read_at, row.edited_at, row.updated_at].filter((at) => at !== null),
      offsetMs: clock.offset() * 1000,
    })
    return ok(presentTimeline(messageFacts(row, publication), messageVerdict(row, publication)))
  }),
]
