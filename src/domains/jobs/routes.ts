import type { Tx } from '../../platform/db/sql.ts'
import { ok, route } from '../../platform/http/endpoint.ts'
import { cursorsOf } from '../../platform/http/list-cursor.ts'
import { cutPage, nextOf, requestedPage } from '../../platform/http/paging.ts'
import { refuse } from '../../platform/http/problem.ts'
import * as deadJobs from '../../platform/jobs/dead-jobs.ts'
import { iso } from '../../platform/lib/clock.ts'
import { parse, print } from '../../platform/lib/id.ts'
import type { Services } from '../../services.ts'
import { filteredAccount } from '../accounts/ops.ts'
import * as c from './contract.ts'
import { maxChangedDeadJobs as limit, maxShownPayloadLength } from './limits.ts'
import { refusals } from './refusals.ts'

const present = (row: deadJobs.DeadJob) => ({
  uuid: print('DJB', row.id),
  kind: row.kind,
  ...(row.account_id === null ? {} : { account_uuid: print('ACC', row.account_id) }),
  attempts: row.attempts,
  ...(row.last_error === null ? {} : { error: row.last_error }),
  settled: row.is_settled,
  payload: row.payload,
  created_at: iso(row.created_at),
  died_at: iso(Date.parse(row.died_at)),
})

const cursors = cursorsOf(c.listDeadJobs)

const lock = async (tx: Tx, printed: string) => {
  const id = parse('DJB', printed) ?? refuse(refusals.unknownDeadJob(printed))
  const row = (await deadJobs.lockDeadJob(tx, id)) ?? refuse(refusals.unknownDeadJob(printed))
  return { ...row, id }
}

/** The part of the audit row that all acts on one job share. */
const targetOf = ({ account_id }: { account_id: string | null }) => (account_id === null ? {} : { account: account_id })

export const jobRoutes = ({ db }: Services) => [
  route(c.listDeadJobs, async ({ query }) => {
    const pageRequest = requestedPage(query, cursors.key(query.cursor))
    const account = await filteredAccount(db, query.account_uuid)
    const found = await deadJobs.listDeadJobs(
      db,
      { kind: query.kind ?? null, account },
      pageRequest.read,
      maxShownPayloadLength,
    )
    const { rows, fields } = cutPage(pageRequest, found, ({ died_at, id }) => cursors.write({ time: died_at, id }))
    return ok({ count: rows.length, dead_jobs: rows.map(present), ...nextOf(fields) })
  }),

  route(c.requeueDeadJob, async ({ params, tx, audit }) => {
    const job = await lock(tx, params.job_uuid)
    if (job.is_settled) throw refusals.settled(job.kind)
    await deadJobs.requeueDeadJobs(tx, { id: job.id })
    await audit(tx, { ...targetOf(job), after: { kind: job.kind } })
    return ok({})
  }),

  route(c.requeueDeadJobs, async ({ body: { kind }, tx, audit }) => {
    const requeued = await deadJobs.requeueDeadJobs(tx, { kind, limit })
    await audit(tx, { target: kind, after: { kind, requeued } })
    return ok({ requeued })
  }),

  route(c.deleteDeadJob, async ({ params, tx, audit }) => {
    const job = await lock(tx, params.job_uuid)
    await deadJobs.deleteDeadJobs(tx, { id: job.id })
    await audit(tx, { ...targetOf(job), before: { kind: job.kind } })
    return ok({})
  }),

  route(c.deleteDeadJobs, async ({ query: { kind }, tx, audit }) => {
    const deleted = await deadJobs.deleteDeadJobs(tx, { kind, limit })
    await audit(tx, { target: kind, before: { kind, deleted } })
    return ok({ deleted })
  }),
]
