import type { Sql, Tx } from '../../../platform/db/sql.ts'
import { ok, route } from '../../../platform/http/endpoint.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { checkFields } from '../../../platform/http/unknown-fields.ts'
import { enqueue } from '../../../platform/jobs/queue.ts'
import { parse, print, uuid } from '../../../platform/lib/id.ts'
import type { Services } from '../../../services.ts'
import { type Access, accessOf, maySee } from '../access.ts'
import { actorOf } from '../actor.ts'
import { readChange } from '../change-conversation.ts'
import type { ConversationFilter } from '../conversation-list.ts'
import { undoSeconds } from '../limits.ts'
import { readFilter } from '../list-filters.ts'
import { refusals } from '../refusals.ts'
import * as c from './contract.ts'
import { type BulkPayload, bulkKind } from './jobs.ts'
import { presentBulk } from './present-bulk.ts'
import * as store from './store.ts'

const start = (tx: Tx, account: string, job: string) =>
  enqueue(tx, bulkKind, { job } satisfies BulkPayload, { account, key: account })

const stored = (filter: ConversationFilter): store.StoredFilter => ({
  ...filter,
  since: filter.since?.toISOString() ?? null,
  until: filter.until?.toISOString() ?? null,
})

/** Returns the bare ids of visible conversations. @throws Problem 404 */
const readIds = async (tx: Tx, access: Access, printed: readonly string[]): Promise<string[]> => {
  const ids = new Map(printed.map((one) => [parse('CNV', one), one]))
  const known = new Set(
    (
      await store.assigneesOf(
        tx,
        access.account,
        [...ids.keys()].flatMap((id) => id ?? []),
      )
    )
      .filter((row) => maySee(access, row))
      .map(({ id }) => id),
  )
  return [...ids].map(([id, one]) =>
    id !== null && known.has(id) ? id : refuse(refusals.unknownConversation(one).at('uuids')),
  )
}

/** Returns the bare ids of tags. @throws Problem 404 */
const readTags = async (tx: Tx, account: string, printed: readonly string[]): Promise<string[]> => {
  const ids = printed.map((one) => parse('TAG', one) ?? refuse(refusals.unknownTag(one)))
  const known = await store.lockTags(tx, account, ids)
  for (const id of ids) if (!known.has(id)) throw refusals.unknownTag(print('TAG', id))
  return [...new Set(ids)]
}

/** Routes of changes that concern many conversations. */
export const bulkRoutes = ({ db, clock }: Pick<Services, 'db' | 'clock'>) => {
  const requireJob = async (
    sql: Sql,
    account: string,
    printed: string,
    read: typeof store.find | typeof store.lock,
  ) => {
    const id = parse('JOB', printed)
    // `lock` runs in a transaction only: its callers pass one.
    return (id && (await read(sql as Tx, account, id))) || refuse(refusals.unknownJob(printed))
  }

  return [
    route(c.changeConversations, async ({ body, tx, ...call }) => {
      const access = await accessOf(tx, call)
      const { account } = access
      const { uuids, query, change } = body
      // Each filter narrows the change: without a mistyped one it would concern more conversations.
      checkFields(c.changeConversations.body.properties.query, query, ['query'])
      const filter = query === undefined ? null : stored(await readFilter(tx, access, query))
      const ids = uuids === undefined ? null : await readIds(tx, access, uuids)
      if ((ids === null) === (filter === null)) throw refusals.conversationsRequired()
      if (Object.keys(change).length === 0) throw refusals.changeRequired()
      const { add_tags = [], remove_tags = [], ...rest } = change
      const changeRequest = await readChange(tx, account, clock.now(), rest)
      const ends = changeRequest.snoozedUntil instanceof Date || changeRequest.snoozedTillReply === true
      if (changeRequest.status === 'snoozed' && !ends) throw refusals.snoozeWithoutEnd()
      const { snoozedUntil, ...others } = changeRequest
      const edit: store.BulkEdit = {
        ...Object.fromEntries(Object.entries(others).filter(([, value]) => value !== undefined)),
        ...(snoozedUntil === undefined ? {} : { snoozedUntil: snoozedUntil?.toISOString() ?? null }),
        addTags: await readTags(tx, account, add_tags),
        removeTags: await readTags(tx, account, remove_tags),
      }
      const id = uuid()
      const row = {
        account_id: account,
        id,
        user_id: access.userId,
        is_narrowed: access.isNarrowed,
        change: edit,
        filter,
      }
      await store.create(tx, { ...row, undo_of: null })
      if (ids) await store.addRows(tx, row, ids)
      await start(tx, account, id)
      return ok({ job_uuid: print('JOB', id) })
    }),

    route(c.showBulkChange, async ({ account, params }) =>
      ok({ job: presentBulk(await requireJob(db, account.id, params.job_uuid, store.find)) }),
    ),

    route(c.undoBulkChange, async ({ params, tx, ...call }) => {
      const actor = await actorOf(tx, call)
      const { account } = actor
      const known = await requireJob(tx, account, params.job_uuid, store.lock)
      if (known.user_id !== actor.userId) actor.require('team_settings')
      if (known.undo_of !== null) throw refusals.notUndoable('it undoes another one')
      if (known.state === 'undone') throw refusals.notUndoable('it was undone already')
      if ((await store.ageOf(tx, known)) > undoSeconds) throw refusals.notUndoable('the time for it is over')
      await store.setState(tx, known, 'undone')
      const id = uuid()
      const row = { account_id: account, id, user_id: actor.userId, is_narrowed: actor.isNarrowed }
      await store.create(tx, { ...row, change: {}, filter: null, undo_of: known.id })
      await store.addChangedRows(tx, account, id, known.id)
      await start(tx, account, id)
      return ok({ job_uuid: print('JOB', id) })
    }),
  ]
}
