import type { FastifyRequest } from 'fastify'
import type { Tx } from '../../../platform/db/sql.ts'
import { assertMayMake } from '../../../platform/http/credential-strength.ts'
import { ok, route } from '../../../platform/http/endpoint.ts'
import { cursorsOf } from '../../../platform/http/list-cursor.ts'
import { cutPage, requestedPage, totalFields } from '../../../platform/http/paging.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { iso } from '../../../platform/lib/clock.ts'
import { fullName } from '../../../platform/lib/full-name.ts'
import { parse, print } from '../../../platform/lib/id.ts'
import type { Services } from '../../../services.ts'
import { revokeKeysOf } from '../../accounts/ops.ts'
import { addMember, namePersonOf, publishMember } from '../../users/ops.ts'
import { deliverInvitation, deliverPasswordLink, deliveryOf } from '../invitations/deliver.ts'
import { makePasswordLink, makeUserLink } from '../invitations/links.ts'
import * as invitations from '../invitations/store.ts'
import { refusals } from '../refusals.ts'
import * as persons from '../store.ts'
import * as c from './contract.ts'
import * as store from './store.ts'

const presentMember = (row: store.MemberRow) => ({
  uuid: print('USR', row.id),
  first_name: row.first_name,
  last_name: row.last_name,
  email: row.email,
  status: row.status,
  role: row.role,
  ...(row.person_id === null
    ? {}
    : { person: { name: fullName(row), second_factor: row.has_second_factor, passkeys: row.passkeys } }),
  ...(row.last_seen_at ? { last_seen_at: iso(row.last_seen_at) } : {}),
  availability: row.availability,
  created_at: iso(row.created_at),
})

const audited = ({ first_name, last_name, email, status, role }: store.MemberRow) => ({
  first_name,
  last_name,
  email,
  status,
  role,
})

/** Shown to the invited person. */
const inviter = ({ sessionAccount }: FastifyRequest, account: { readonly name: string }): string =>
  sessionAccount?.userName ?? account.name

/** Fields of a mail that an account sends. */
const letter = ({ sessionAccount }: FastifyRequest, { id, name }: { readonly id: string; readonly name: string }) => ({
  account: id,
  accountName: name,
  inviter: sessionAccount?.userName ?? null,
})

const isActiveOwner = ({ role, status, person_id }: Pick<store.MemberRow, 'role' | 'person_id'> & { status: string }) =>
  role === 'owner' && status === 'ACTIVE' && person_id !== null

const cursors = cursorsOf(c.listMembers)

export const memberRoutes = (services: Services) => {
  const { db, changes, quotas, publicUrl } = services
  const lockMember = async (tx: Tx, account: string, printed: string): Promise<store.MemberRow> => {
    const id = parse('USR', printed)
    await store.lock(tx, account)
    return (id && (await store.find(tx, account, id))) || refuse(refusals.unknownMember(printed))
  }
  const readMember = async (tx: Tx, account: string, id: string) =>
    (await store.find(tx, account, id)) ?? refuse(refusals.unknownMember(print('USR', id)))

  return [
    route(c.listMembers, async ({ account, query }) => {
      const pageRequest = requestedPage(query, cursors.key(query.cursor))
      const found = await store.page(db, account.id, pageRequest.read)
      const { rows, fields } = cutPage(pageRequest, found, ({ at, id }) => cursors.write({ time: at, id }))
      return ok({ ...fields, ...totalFields(await store.count(db, account.id)), members: rows.map(presentMember) })
    }),

    route(c.createMember, async ({ account, body, request, tx, audit }) => {
      const { first_name, last_name, email, role = 'agent' } = body
      assertMayMake(request, { kind: 'person', role, before: null })
      const id = await addMember(tx, account.id, { first_name, last_name, email })
      await quotas.check(tx, account, 'members', () => store.countUsed(tx, account.id))
      await store.setRole(tx, account.id, id, role)
      const delivery = deliveryOf(services, body.delivery)
      const sender = { invitedBy: inviter(request, account), delivery }
      const link = await makeUserLink(tx, publicUrl(), { account: account.id, user: id, ...sender })
      const sent = await deliverInvitation(tx, services, { link, to: email, ...letter(request, account), delivery })
      const row = await readMember(tx, account.id, id)
      await audit(tx, { target: print('USR', id), after: audited(row) })
      await publishMember(tx, 'member.changed', account.id, row)
      await changes.invalidate(tx, 'users')
      return ok({ member: presentMember(row), ...sent, expires_at: link.expires_at })
    }),

    route(c.changeMember, async ({ account, key, params, body, request, tx, audit }) => {
      const row = await lockMember(tx, account.id, params.user_uuid)
      const member = {
        first_name: body.first_name ?? row.first_name,
        last_name: body.last_name ?? row.last_name,
        role: body.role ?? row.role,
        status: body.status ?? row.status,
      }
      const isRestored = row.status === 'SUSPENDED' && member.status === 'ACTIVE'
      assertMayMake(request, { kind: 'person', role: member.role, before: row.role, isRestored })
      if (row.status === 'PENDING_INVITE' && body.status && body.status !== 'DELETED')
        throw refusals.invitationPending()
      if (isActiveOwner(row) && !isActiveOwner({ ...row, ...member }))
        if ((await store.countOtherOwners(tx, account.id, row.id)) === 0) throw refusals.lastOwner()
      await store.change(tx, account.id, row.id, member)
      await namePersonOf(tx, account.id, row.id)
      const isBarred = member.status !== 'ACTIVE' && member.status !== row.status
      if (isBarred) await invitations.deleteUnused(tx, { user: row.id, person: null })
      const revoked = isBarred && body.revoke_keys ? await revokeKeysOf(tx, account.id, row.id, key) : null
      if (revoked) await changes.invalidate(tx, 'accounts')
      const after = { ...row, ...member }
      const keys = revoked ? { revoked_keys: revoked } : {}
      await audit(tx, { before: audited(row), after: { ...audited(row), ...member, ...keys } })
      await publishMember(tx, 'member.changed', account.id, after)
      await changes.invalidate(tx, 'users')
      // A deleted member is answered as the member was last.
      const shown = member.status === 'DELETED' ? row : await readMember(tx, account.id, after.id)
      return ok({ member: presentMember(shown), ...keys })
    }),

    route(c.inviteMember, async ({ account, params, body, request, tx, audit }) => {
      const row = await lockMember(tx, account.id, params.user_uuid)
      assertMayMake(request, { kind: 'link', role: row.role })
      const { id: user, person_id: person } = row
      const delivery = deliveryOf(services, body.delivery)
      const sender = { invitedBy: inviter(request, account), delivery }
      // Locked: the person may be joining another account, which ends password links.
      const locked = person === null ? null : await persons.lock(tx, person)
      if (person && (locked?.operator || (await store.hasOtherAccount(tx, account.id, person))))
        throw refusals.operatorNeeded()
      const letterTo = { ...letter(request, account), delivery }
      // The owner of the address is invited in the place of a person who yielded it.
      if (locked && !(delivery === 'mail' && (await persons.hasYielded(tx, locked.id)))) {
        const link = await makePasswordLink(tx, publicUrl(), { person: locked.id, account: account.id, ...sender })
        const sent = await deliverPasswordLink(tx, services, { link, to: locked.email, ...letterTo })
        await audit(tx, { after: { kind: 'password', delivery, expires_at: link.expires_at } })
        return ok({ ...('url' in sent ? { invite_url: sent.url } : sent), expires_at: link.expires_at })
      }
      const link = await makeUserLink(tx, publicUrl(), { account: account.id, user, ...sender })
      const sent = await deliverInvitation(tx, services, { link, to: row.email, ...letterTo })
      await audit(tx, { after: { kind: 'invite', delivery, expires_at: link.expires_at } })
      return ok({ ...sent, expires_at: link.expires_at })
    }),
  ]
}
