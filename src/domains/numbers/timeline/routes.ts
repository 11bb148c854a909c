import { hasOneOf } from '../../../platform/http/capability.ts'
import { ok, route } from '../../../platform/http/endpoint.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { parse, print } from '../../../platform/lib/id.ts'
import type { Services } from '../../../services.ts'
import { presentTimeline, publicationOf } from '../../timelines/ops.ts'
import { refusals } from '../refusals.ts'
import * as c from './contract.ts'
import { numberFacts, numberVerdict } from './number-timeline.ts'
import * as store from './store.ts'

/** Routes of the timeline of a number. */
export const numberTimelineRoutes = ({ db, clock }: Services) => [
  route(c.getNumberTimeline, async ({ account, key, params: { virtual_number_uuid: printed } }) => {
    const id = parse('DID', printed)
    const row = (id && (await store.find(db, account.id, id))) || refuse(refusals.unknownVirtualNumber(printed))
    const spelling = print('DID', row.id)
    const [transfers, acts, publication] = await Promise.all([
      store.transfers(db, row),
      store.acts(db, account.id, spelling),
      publicationOf(db, account.id, {
        printed: spelling,
        conversation: row.number,
        id: row.id,
        moments: [row.created_at, row.suspended_at, row.released_at].filter((at) => at !== null),
        offsetMs: clock.offset() * 1000,
      }),
    ])
    const trace = { ...publication, row, transfers, acts, showsMoney: hasOneOf(key, 'money', 'numbers') }
    return ok(presentTimeline(numberFacts(trace), numberVerdict(trace)))
  }),
]
