import { Type } from 'typebox'
import { contract } from '../../platform/http/endpoint.ts'
import { Enum, Named } from '../../platform/http/schema.ts'

const open = { auth: 'none', shape: 'full', tag: 'Health', method: 'GET', status: 200, errors: {} } as const

export const ping = contract({
  ...open,
  id: 'ping',
  url: '/ping',
  summary: 'Check that the server can be reached',
  description: 'No key is needed and no quota is used.',
  reply: Type.Object({ success: Type.Literal(true), message: Type.Literal('pong') }),
})

export const alive = contract({
  ...open,
  id: 'alive',
  url: '/healthz',
  summary: 'Check that the process is alive',
  description: 'The answer does not depend on the database. Use it as a liveness probe.',
  reply: Type.Object({ status: Type.Literal('alive'), version: Type.String(), uptime_seconds: Type.Integer() }),
})

export const readiness = contract({
  ...open,
  id: 'readiness',
  url: '/readyz',
  summary: 'Report whether this process is ready: database, migrations and roles',
  description:
    'Use it as a readiness probe of a load balancer. It proves that the database stores a write, at most once a second for all callers.',
  codes: { unavailable: ['starting', 'stopping'] },
  errors: {
    unavailable:
      'The process is starting or stopping, the database is read-only (database_read_only), its disk is full (database_full), it stores no write within 2 s (database_hangs) or cannot be reached, or the process does not run the role (role_not_here, no_calls_here)',
  },
  query: Type.Object({
    role: Type.Optional(
      Enum(['api', 'worker', 'voice', 'console'], {
        description:
          'For proxies: 503 unless this process has the role in TRUNKLINE_ROLES. voice: 503 unless this process runs the calls',
      }),
    ),
  }),
  reply: Type.Object({
    status: Enum(['ready']),
    database: Enum(['up']),
    migrations: Type.Integer({ description: 'Applied' }),
    roles: Type.Array(Type.String()),
    clock_skew_seconds: Type.Optional(
      Type.Number({
        description: 'Seconds by which the clock of the database is ahead of this process; absent up to 2 s',
      }),
    ),
    voice: Type.Optional(
      Named(
        'VoiceHealth',
        Type.Object(
          {
            state: Enum(['running', 'standby', 'hindered', 'starting']),
            reason: Type.Optional(Type.String({ description: 'Why the process does not run calls' })),
          },
          { description: 'With the role voice: one process of an installation runs the calls, others stand by' },
        ),
      ),
    ),
  }),
})
