import { route } from '../../platform/http/endpoint.ts'
import { unavailable } from '../../platform/http/problem.ts'
import type { Services } from '../../services.ts'
import * as c from './contract.ts'

export const healthRoutes = ({ db, config, version, lifecycle, voice }: Services) => [
  route(c.ping, async () => ({ success: true as const, message: 'pong' as const })),

  route(c.alive, async () => ({
    status: 'alive' as const,
    version,
    uptime_seconds: Math.floor(process.uptime()),
  })),

  route(c.readiness, async ({ query }) => {
    if (lifecycle.stopping) unavailable('The server is stopping', 'stopping')
    const { count, is_read_only } = await db.one<{ count: number; is_read_only: boolean }>`
      select count(*) as count, pg_is_in_recovery() or current_setting('transaction_read_only')::boolean as is_read_only
      from schema_migrations where name <> '0000_lock'`
    if (is_read_only)
      unavailable('The database is read-only: it is a standby, or was set read-only', 'database_read_only')
    if (!lifecycle.ready) unavailable('The server is starting', 'starting')
    const { role } = query
    if (role !== undefined && !config.roles.includes(role))
      unavailable(`This process does not run the role ${role}: see TRUNKLINE_ROLES`, 'role_not_here')
    const { state, reason } = voice.status()
    if (role === 'voice' && state !== 'running') unavailable(`This process takes no calls: ${reason}`, 'no_calls_here')
    return {
      ...{ status: 'ready' as const, database: 'up' as const, migrations: count, roles: config.roles },
      ...(config.roles.includes('voice') ? { voice: { state, ...(reason === null ? {} : { reason }) } } : {}),
    }
  }),
]
