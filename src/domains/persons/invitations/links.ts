import type { Tx } from '../../../platform/db/sql.ts'
import { iso } from '../../../platform/lib/clock.ts'
import { print, uuid } from '../../../platform/lib/id.ts'
import { keyHash } from '../../../platform/lib/secret.ts'
import { invitationDays, passwordLinkDays } from '../limits.ts'
import { refusals } from '../refusals.ts'
import * as persons from '../store.ts'
import { makeToken } from '../visit.ts'
import * as store from './store.ts'

/** `uuid`: printed id of the invitation. */
type Link = { readonly uuid: string; readonly url: string; readonly expires_at: string }

const none = { account_id: null, user_id: null, person_id: null, email: null, operator: null }

/** Stores a link of one use. The token is after the #, so that no proxy logs it. */
const makeLink = async (
  tx: Tx,
  base: string,
  page: 'claim' | 'invitation',
  wanted: Partial<typeof none | store.InvitationRow> & Pick<store.InvitationRow, 'kind' | 'invited_by'>,
): Promise<Link> => {
  const token = makeToken()
  const days = wanted.kind === 'password' ? passwordLinkDays : invitationDays
  const id = uuid()
  const { expires_at } = await store.add(tx, { ...none, ...wanted, id, tokenHash: keyHash(token), days })
  return { uuid: print('INV', id), url: `${base}/console/${page}#${token}`, expires_at: iso(expires_at) }
}

/** Creates a claim link. Earlier ones stay valid, as several processes may print theirs.
 *  @throws Problem 410 if the installation has its first person */
export const makeClaimLink = async (tx: Tx, base: string, invitedBy: string): Promise<Link> => {
  if (await persons.isClaimed(tx)) throw refusals.alreadyClaimed()
  return makeLink(tx, base, 'claim', { kind: 'claim', invited_by: invitedBy })
}

/** Creates an invitation for a user of an account. Earlier links of the user end. */
export const makeUserLink = async (
  tx: Tx,
  base: string,
  { account, user, invitedBy }: { readonly account: string; readonly user: string; readonly invitedBy: string },
): Promise<Link> => {
  await store.deleteUnused(tx, { user, person: null })
  return makeLink(tx, base, 'invitation', {
    kind: 'invite',
    account_id: account,
    user_id: user,
    invited_by: invitedBy,
  })
}

/** Creates a link with which a person sets a new password. Earlier ones end. */
export const makePasswordLink = async (tx: Tx, base: string, person: string, invitedBy: string): Promise<Link> => {
  await store.deleteUnused(tx, { user: null, person })
  return makeLink(tx, base, 'invitation', { kind: 'password', person_id: person, invited_by: invitedBy })
}

/** Creates an invitation to operate the installation. */
export const makeOperatorLink = (
  tx: Tx,
  base: string,
  {
    email,
    operator,
    invitedBy,
  }: { readonly email: string; readonly operator: persons.OperatorRole; readonly invitedBy: string },
): Promise<Link> => makeLink(tx, base, 'invitation', { kind: 'invite', email, operator, invited_by: invitedBy })
