import { hasOneOf } from '../../platform/http/capability.ts'
import { ok, route } from '../../platform/http/endpoint.ts'
import type { Services } from '../../services.ts'
import { contentsOf, narrowingOf } from '../inbox/narrowing/ops.ts'
import { inboxSearch } from '../inbox/search/ops.ts'
import * as c from './contract.ts'
import { searchKinds } from './kinds.ts'
import { defaultResults } from './limits.ts'
import { searchAll } from './search.ts'
import { readCursor, writeCursor } from './search-cursor.ts'

/** Routes of the search. */
export const searchRoutes = ({ db }: Services) => [
  route(c.search, async ({ query, ...call }) => {
    const { account, key } = call
    const kinds = query.in?.split(',')
    const { groups, next } = await searchAll(db, {
      account: account.id,
      text: query.q,
      kinds: searchKinds.filter((kind) => kinds === undefined || kinds.includes(kind)),
      after: query.cursor === undefined ? null : readCursor(query.cursor),
      limit: query.results_per_page ?? defaultResults,
      may: (...capabilities) => hasOneOf(key, ...capabilities),
      narrowing: await narrowingOf(db, call, 'read_only'),
      contents: await contentsOf(db, call),
      inbox: hasOneOf(key, 'inbox') ? await inboxSearch(db, call) : null,
    })
    const cursor = writeCursor(next)
    return ok({ groups, ...(cursor === undefined ? {} : { next_cursor: cursor }) })
  }),
]
