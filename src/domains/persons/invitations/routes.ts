import { lookUp, makeExistenceCheck } from '../../../platform/http/auth-throttle.ts'
import { assertMayMake } from '../../../platform/http/credential-strength.ts'
import { ok, route, routeWithoutTransaction } from '../../../platform/http/endpoint.ts'
import { iso } from '../../../platform/lib/clock.ts'
import { keyHash } from '../../../platform/lib/secret.ts'
import type { Services } from '../../../services.ts'
import { refusals } from '../refusals.ts'
import type { SignInGate } from '../sign-in-gate.ts'
import { enter } from '../visit.ts'
import { acceptWith, subjectOf, unusedInvitation } from './accept.ts'
import * as c from './contract.ts'
import { makeClaimLink, makeOperatorLink } from './links.ts'
import * as store from './store.ts'

/** Shown for an operator: the person's name, or the label of the key. */
const nameOf = (operator: { readonly label: string } | null): string => operator?.label ?? 'operator'

export const invitationRoutes = (services: Services, gate: SignInGate) => {
  const { db, authThrottle, publicUrl } = services
  const tokens = {
    cached: () => null,
    find: (token: string) => store.find(db, keyHash(token)),
    exists: makeExistenceCheck((hashes) => store.existing(db, hashes)),
  }

  /** Returns the hash of a known token. Unknown ones are throttled by address. @throws Problem 404, 429 */
  const knownHash = async (address: string, token: string): Promise<Buffer> => {
    await lookUp(authThrottle, address, token, tokens, refusals.unknownInvitation)
    return keyHash(token)
  }

  return [
    route(c.showInvitation, async ({ params, request }) => {
      const invitation = await unusedInvitation(services, await knownHash(request.ip, params.token))
      const subject = await subjectOf(services, invitation)
      return ok({
        kind: invitation.kind === 'password' ? ('password' as const) : ('invite' as const),
        ...subject,
        invited_by: invitation.invited_by,
        expires_at: iso(invitation.expires_at),
      })
    }),

    routeWithoutTransaction(c.acceptInvitation, async ({ params, body, request, reply }) => {
      const hash = await knownHash(request.ip, params.token)
      return await enter(services, request, reply, await acceptWith(services, gate, request, hash, body))
    }),

    route(c.inviteOperator, async ({ body, request, tx, audit }) => {
      assertMayMake(request, { kind: 'operator' })
      const { email, operator } = body
      const invitedBy = nameOf(request.operator)
      const link = await makeOperatorLink(tx, publicUrl(), { email, operator, invitedBy })
      const { uuid, url, expires_at } = link
      await audit(tx, { target: uuid, after: { email, operator, expires_at } })
      return ok({ invite_url: url, expires_at })
    }),

    route(c.createClaimLink, async ({ request, tx, audit }) => {
      assertMayMake(request, { kind: 'operator' })
      const { uuid, url, expires_at } = await makeClaimLink(tx, publicUrl(), nameOf(request.operator))
      await audit(tx, { target: uuid, after: { expires_at } })
      return ok({ claim_url: url, expires_at })
    }),
  ]
}
