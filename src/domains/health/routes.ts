import { route } from '../../platform/http/endpoint.ts'
import type { Services } from '../../services.ts'
import { refusals as callRefusals } from '../calls/refusals.ts'
import * as c from './contract.ts'
import { refusals } from './refusals.ts'

export const healthRoutes = ({ db, config, version, lifecycle, voice }: Services) => [
  route(c.ping, async () => ({ success: true as const, message: 'pong' as const })),

  route(c.alive, async () => ({
    status: 'alive' as const,
    version,
    uptime_seconds: Math.floor(process.uptime()),
  })),

  route(c.readiness, async ({ query }) => {
    if (lifecycle.stopping) throw refusals.stopping()
    const { count, is_read_only } = await db.one<{ count: number; is_read_only: boolean }>`
      select count(*) as count, pg_is_in_recovery() or current_setting('transaction_read_only')::boolean as is_read_only
      from schema_migrations where name <> '0000_lock'`
    if (is_read_only) throw refusals.databaseReadOnly()
    if (!lifecycle.ready) throw refusals.starting()
    const { role } = query
    if (role !== undefined && !config.roles.includes(role)) throw refusals.roleNotHere(role)
    const { state, reason } = voice.status()
    if (role === 'voice' && state !== 'running') throw callRefusals.noCallsHere(reason)
    return {
      ...{ status: 'ready' as const, database: 'up' as const, migrations: count, roles: config.roles },
      ...(config.roles.includes('voice') ? { voice: { state, ...(reason === null ? {} : { reason }) } } : {}),
    }
  }),
]
