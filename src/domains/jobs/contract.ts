import { Type } from 'typebox'
import { Confidential } from '../../platform/http/confidential.ts'
import { contract } from '../../platform/http/endpoint.ts'
import { Id, Named, Ok, Success, Time } from '../../platform/http/schema.ts'

const operator = { auth: 'operator', shape: 'full', tag: 'Operator: jobs', status: 200 } as const

const Kind = Type.String({ minLength: 1, maxLength: 100, description: 'Kind of the jobs', examples: ['numbers.renew'] })

const oneJob = { params: Type.Object({ job_uuid: Id('DJB') }) }
const notFound = 'No such dead job'

export const listDeadJobs = contract({
  ...operator,
  id: 'listDeadJobs',
  client: 'deadJobs.list',
  method: 'GET',
  url: '/operator/dead-jobs',
  summary: 'List the jobs that failed permanently, newest first',
  description:
    'Each entry shows the kind, the account, the last error and the payload. Requeue a job after its cause is fixed. ' +
    'Follow next_cursor for older entries.',
  query: Type.Object({
    kind: Type.Optional(Kind),
    account_uuid: Type.Optional(Id('ACC', 'Only jobs of this account')),
    results_per_page: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, description: 'Default: 50' })),
    cursor: Type.Optional(Type.String({ maxLength: 300, description: 'next_cursor of the previous page' })),
  }),
  reply: Ok({
    count: Type.Integer(),
    dead_jobs: Type.Array(
      Named(
        'DeadJob',
        Type.Object(
          {
            uuid: Id('DJB'),
            kind: Kind,
            account_uuid: Type.Optional(Id('ACC')),
            attempts: Type.Integer(),
            error: Type.Optional(Confidential(Type.String({ description: 'Error of the last attempt' }))),
            settled: Type.Boolean({
              description:
                'True: the failure took effect (a message failed, money went back, a request was answered). Such a job cannot be requeued',
            }),
            payload: Confidential(Type.String({ description: 'As JSON; its first 4,000 characters' })),
            created_at: Time,
            died_at: Time,
          },
          { 'x-columns': ['uuid', 'died_at', 'kind', 'attempts', 'settled', 'error'] },
        ),
      ),
    ),
    next_cursor: Type.Optional(Type.String()),
  }),
  errors: { notFound: 'No such account' },
  cli: 'dead-jobs list',
})

export const requeueDeadJob = contract({
  ...operator,
  ...oneJob,
  id: 'requeueDeadJob',
  client: 'deadJobs.requeue',
  method: 'POST',
  url: '/operator/dead-jobs/:job_uuid/requeue',
  summary: 'Return a dead job to the queue, due at once and with all its attempts',
  description: 'Fix the cause first: a job that fails again is listed again. Settled jobs cannot be requeued.',
  reply: Success,
  errors: { notFound, conflict: 'The failure of the job took effect (job_settled)' },
  cli: 'dead-jobs requeue',
})

export const requeueDeadJobs = contract({
  ...operator,
  id: 'requeueDeadJobs',
  client: 'deadJobs.requeueAll',
  method: 'POST',
  url: '/operator/dead-jobs/requeue',
  summary: 'Return all dead jobs of a kind to the queue, except settled ones',
  description: 'Requeues the oldest 10,000 at most. Repeat the request until it requeues none.',
  body: Type.Object({ kind: Kind }),
  reply: Ok({ requeued: Type.Integer() }),
  errors: {},
  cli: 'dead-jobs requeue-all',
})

export const deleteDeadJob = contract({
  ...operator,
  ...oneJob,
  id: 'deleteDeadJob',
  client: 'deadJobs.delete',
  method: 'DELETE',
  url: '/operator/dead-jobs/:job_uuid',
  summary: 'Delete a dead job',
  description: 'Its work is not done. The audit trail keeps its kind.',
  reply: Success,
  errors: { notFound },
  cli: 'dead-jobs delete',
})

export const deleteDeadJobs = contract({
  ...operator,
  id: 'deleteDeadJobs',
  client: 'deadJobs.deleteAll',
  method: 'DELETE',
  url: '/operator/dead-jobs',
  summary: 'Delete all dead jobs of a kind',
  description: 'Deletes the oldest 10,000 at most. Repeat the request until it deletes none.',
  query: Type.Object({ kind: Kind }),
  reply: Ok({ deleted: Type.Integer() }),
  errors: {},
  cli: 'dead-jobs delete-all',
})
