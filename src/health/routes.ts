import { serve } from '../http/endpoint.ts'
import { unavailable } from '../http/problem.ts'
import type { Parts } from '../parts.ts'
import * as c from './contract.ts'

export const healthRoutes = ({ db, config, version, life, voice }: Parts) => [
  serve(c.ping, async () => ({ success: true as const, message: 'pong' as const })),

  serve(c.alive, async () => ({
    status: 'alive' as const,
    version,
    uptime_seconds: Math.floor(process.uptime()),
  })),

  serve(c.readiness, async ({ query }) => {
    if (life.stopping) unavailable('The server is stopping', 'stopping')
    const { count } = await db.one<{
      count: number
    }>`select count(*) as count from schema_migrations where name <> '0000_lock'`
    if (!life.ready) unavailable('The server is starting', 'starting')
    const { state, reason } = voice.standing()
    if (query.role === 'voice' && state !== 'running')
      unavailable(`This process takes no calls: ${reason}`, 'no_calls_here')
    return {
      ...{ status: 'ready' as const, database: 'up' as const, migrations: count, roles: config.roles },
      ...(config.roles.includes('voice') ? { voice: { state, ...(reason === null ? {} : { reason }) } } : {}),
    }
  }),
]
