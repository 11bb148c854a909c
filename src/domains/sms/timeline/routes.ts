import { hasOneOf } from '../../../platform/http/capability.ts'
import { ok, route } from '../../../platform/http/endpoint.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { parse, print } from '../../../platform/lib/id.ts'
import type { Services } from '../../../services.ts'
import { isHidden, narrowingOf } from '../../inbox/narrowing/ops.ts'
import { presentTimeline, publicationOf } from '../../timelines/ops.ts'
import * as trace from '../message-trace-store.ts'
import { refusals } from '../refusals.ts'
import * as c from './contract.ts'
import { smsFacts, smsVerdict } from './sms-timeline.ts'
import * as store from './store.ts'

/** Routes of the timeline of an SMS. */
export const smsTimelineRoutes = ({ db, clock }: Services) => [
  route(c.getSmsTimeline, async ({ params: { message_uuid: printed }, ...call }) => {
    const { account, key } = call
    const outbound = parse('SMO', printed)
    const id = outbound ?? parse('SMI', printed) ?? refuse(refusals.unknownMessage(printed))
    const row = await store.find(db, account.id, id)
    if (row?.direction !== (outbound === null ? 'inbound' : 'outbound')) throw refusals.unknownMessage(printed)
    if (await isHidden(db, await narrowingOf(db, call, 'read_only'), [row.contact]))
      throw refusals.unknownMessage(printed)
    const parts = await trace.parts(db, row)
    const moments = [row.updated_at, ...parts.flatMap(({ sent_at, updated_at }) => [sent_at, updated_at])]
    const spelling = print(outbound === null ? 'SMI' : 'SMO', id)
    const [attempts, refunds, publication] = await Promise.all([
      trace.attempts(db, row),
      outbound === null ? [] : store.refunds(db, account.id, spelling, row.updated_at),
      publicationOf(db, account.id, {
        printed: spelling,
        conversation: `${row.channel_id} ${row.contact}`,
        id,
        moments,
        offsetMs: clock.offset() * 1000,
      }),
    ])
    const showsMoney = hasOneOf(key, 'money', 'inbox')
    const found = { ...publication, row, parts, attempts, refunds, showsMoney }
    return ok(presentTimeline(smsFacts(found), smsVerdict(found)))
  }),
]
