import { Type } from 'typebox'
import { contract } from '../http/endpoint.ts'
import { Enum } from '../http/schema.ts'

const open = { auth: 'none', shape: 'full', tag: 'Health', method: 'GET', status: 200, errors: {} } as const

export const ping = contract({
  ...open,
  id: 'ping',
  url: '/ping',
  summary: 'Answers when the server can be reached',
  reply: Type.Object({ success: Type.Literal(true), message: Type.Literal('pong') }),
})

export const alive = contract({
  ...open,
  id: 'alive',
  url: '/healthz',
  summary: 'Answers while the process is alive',
  reply: Type.Object({ status: Type.Literal('alive'), version: Type.String(), uptime_seconds: Type.Integer() }),
})

export const readiness = contract({
  ...open,
  id: 'readiness',
  url: '/readyz',
  summary: 'Whether this process can do its work: database, migrations and roles',
  errors: {
    unavailable:
      'The process is starting or stopping, the database cannot be written to (database_read_only), or the process does not do the work of the role (role_not_here, no_calls_here)',
  },
  query: Type.Object({
    role: Type.Optional(
      Enum(['api', 'worker', 'voice', 'console'], {
        description:
          'For proxies: 503 unless this process has the role in TRUNKLINE_ROLES. voice: 503 unless this very process runs the calls',
      }),
    ),
  }),
  reply: Type.Object({
    status: Enum(['ready']),
    database: Enum(['up']),
    migrations: Type.Integer({ description: 'Applied' }),
    roles: Type.Array(Type.String()),
    voice: Type.Optional(
      Type.Object(
        {
          state: Enum(['running', 'standby', 'hindered', 'starting']),
          reason: Type.Optional(Type.String({ description: 'Why it does not run calls' })),
        },
        { description: 'With the role voice: one process of an installation runs the calls, others stand by' },
      ),
    ),
  }),
})
