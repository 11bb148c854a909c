import { ok, route } from '../../../platform/http/endpoint.ts'
import { roleCapabilities, roles } from '../../../platform/http/role.ts'
import { iso } from '../../../platform/lib/clock.ts'
import { fullName } from '../../../platform/lib/full-name.ts'
import { parse, print } from '../../../platform/lib/id.ts'
import type { Services } from '../../../services.ts'
import { actorOf } from '../actor.ts'
import { maxTeamMembers } from '../limits.ts'
import { refusals } from '../refusals.ts'
import * as c from './contract.ts'
import * as store from './store.ts'

/** Roles whose members take conversations. */
const inboxRoles = roles.filter((role) => roleCapabilities[role]?.includes('inbox') ?? true)

/** Routes of the team: who is there, and what waits. */
export const teamRoutes = ({ db, changes }: Pick<Services, 'db' | 'changes'>) => [
  route(c.setAvailability, async ({ body, tx, ...call }) => {
    const actor = await actorOf(tx, call)
    const { user_uuid, state } = body
    const own = actor.userId === null ? undefined : print('USR', actor.userId)
    const printed = user_uuid ?? own
    if (printed === undefined) throw refusals.userRequired()
    if (call.request.session && printed.toLowerCase() !== own?.toLowerCase()) actor.require('team_settings')
    const user = parse('USR', printed)
    const since = user && (await store.setAvailability(tx, actor.account, user, state))
    if (!user || !since) throw refusals.unknownMember(printed)
    await changes.invalidate(tx, 'users')
    return ok({ user_uuid: print('USR', user), state, since: iso(since) })
  }),

  route(c.showTeam, async ({ account }) => {
    const [members, waiting, today] = await Promise.all([
      store.members(db, account.id, inboxRoles, maxTeamMembers),
      store.waiting(db, account.id),
      store.today(db, account.id),
    ])
    return ok({
      members: members.map((row) => ({
        user_uuid: print('USR', row.id),
        name: fullName(row),
        availability: row.availability,
        ...(row.availability_since ? { since: iso(row.availability_since) } : {}),
        ...(row.call_id ? { call_uuid: print('CDR', row.call_id) } : {}),
        open: row.open,
        waiting: row.waiting,
      })),
      waiting: { n: waiting.n, longest_seconds: waiting.seconds },
      today: {
        closed: today.closed,
        ...(today.median === null ? {} : { first_reply_p50_seconds: today.median }),
      },
    })
  }),
]
