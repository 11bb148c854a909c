import { assertMayMake } from '../../../platform/http/credential-strength.ts'
import { ok, route, routeWithoutTransaction } from '../../../platform/http/endpoint.ts'
import { iso } from '../../../platform/lib/clock.ts'
import type { Services } from '../../../services.ts'
import { maxPasskeys } from '../limits.ts'
import * as passkeys from '../passkeys/store.ts'
import type { SignInGate } from '../sign-in-gate.ts'
import { enter } from '../visit.ts'
import { acceptWith, subjectOf, unusedInvitation } from './accept.ts'
import * as c from './contract.ts'
import { deliverInvitation, deliveryOf } from './deliver.ts'
import { makeClaimLink, makeOperatorLink } from './links.ts'
import { makeTokenLookup } from './token-lookup.ts'

/** Shown for an operator: the person's name, or the label of the key. */
const nameOf = (operator: { readonly label: string } | null): string => operator?.label ?? 'operator'

export const invitationRoutes = (services: Services, gate: SignInGate) => {
  const { db, publicUrl } = services
  const knownHash = makeTokenLookup(services)
  return [
    routeWithoutTransaction(c.showInvitation, async ({ body, request }) => {
      const invitation = await unusedInvitation(services, await knownHash(request.ip, body.token))
      const { account_name, email, name } = await subjectOf(services, invitation)
      const { kind, person_id: person, invited_by, expires_at } = invitation
      const known = person === null ? null : await passkeys.ofPerson(db, person, maxPasskeys)
      return ok({
        kind: kind === 'password' ? ('password' as const) : ('invite' as const),
        ...{ account_name, email, name, invited_by },
        ...(known ? { passkeys: known.map(({ name, created_at }) => ({ name, created_at: iso(created_at) })) } : {}),
        expires_at: iso(expires_at),
      })
    }),

    routeWithoutTransaction(c.acceptInvitation, async ({ body, request, reply }) => {
      const hash = await knownHash(request.ip, body.token)
      return await enter(services, request, reply, await acceptWith(services, gate, request, hash, body))
    }),

    route(c.inviteOperator, async ({ body, request, tx, audit }) => {
      assertMayMake(request, { kind: 'operator' })
      const { email, operator } = body
      const delivery = deliveryOf(services, body.delivery)
      const invitedBy = nameOf(request.operator)
      const link = await makeOperatorLink(tx, publicUrl(), { email, operator, invitedBy, delivery })
      const { uuid, expires_at } = link
      const names = { accountName: 'Trunkline', inviter: request.session?.person?.name ?? null }
      const sent = await deliverInvitation(tx, services, { link, delivery, to: email, account: null, ...names })
      await audit(tx, { target: uuid, after: { email, operator, delivery, expires_at } })
      return ok({ ...sent, expires_at })
    }),

    route(c.createClaimLink, async ({ request, tx, audit }) => {
      assertMayMake(request, { kind: 'operator' })
      const { uuid, url, expires_at } = await makeClaimLink(tx, publicUrl(), nameOf(request.operator))
      await audit(tx, { target: uuid, after: { expires_at } })
      return ok({ claim_url: url, expires_at })
    }),
  ]
}
