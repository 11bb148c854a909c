import { DatabaseUnavailable } from '../../platform/db/unavailability.ts'
import { route } from '../../platform/http/endpoint.ts'
import type { Problem } from '../../platform/http/problem.ts'
import type { Services } from '../../services.ts'
import { refusals as callRefusals } from '../calls/refusals.ts'
import * as c from './contract.ts'
import { refusals } from './refusals.ts'

/** Refusals for what a write showed; other errors of the database get the refusal of every request. */
const refusalByState: ReadonlyMap<unknown, () => Problem> = new Map([
  ['25006', refusals.databaseReadOnly],
  ['53100', refusals.databaseFull],
])

const rejectWrite = (error: unknown): never => {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  const refusal = refusalByState.get(code)
  if (refusal) throw refusal()
  throw error instanceof DatabaseUnavailable && error.means === 'no-writes' ? refusals.databaseHangs() : error
}

export const healthRoutes = ({ writeProbe, config, version, lifecycle, voice, clockSkewSeconds }: Services) => [
  route(c.ping, async () => ({ success: true as const, message: 'pong' as const })),

  route(c.alive, async () => ({
    status: 'alive' as const,
    version,
    uptime_seconds: Math.floor(process.uptime()),
  })),

  route(c.readiness, async ({ query }) => {
    if (lifecycle.stopping) throw refusals.stopping()
    const { migrations } = await writeProbe.check().catch(rejectWrite)
    if (!lifecycle.ready) throw refusals.starting()
    const { role } = query
    if (role !== undefined && !config.roles.includes(role)) throw refusals.roleNotHere(role)
    const { state, reason } = voice.status()
    if (role === 'voice' && state !== 'running') throw callRefusals.noCallsHere(reason)
    const skew = clockSkewSeconds?.() ?? null
    return {
      ...{ status: 'ready' as const, database: 'up' as const, migrations, roles: config.roles },
      ...(config.roles.includes('voice') ? { voice: { state, ...(reason === null ? {} : { reason }) } } : {}),
      ...(skew === null ? {} : { clock_skew_seconds: skew }),
    }
  }),
]
