import type { Tx } from '../../../platform/db/sql.ts'
import { iso } from '../../../platform/lib/clock.ts'
import { print, uuid } from '../../../platform/lib/id.ts'
import { keyHash } from '../../../platform/lib/secret.ts'
import { invitationMinutes, passwordLinkMinutes, proofLinkMinutes } from '../limits.ts'
import { refusals } from '../refusals.ts'
import * as persons from '../store.ts'
import { makeToken } from '../visit.ts'
import * as store from './store.ts'

/** `uuid`: printed id of the invitation. */
export type Link = { readonly uuid: string; readonly url: string; readonly expires_at: string }

const none = { account_id: null, user_id: null, person_id: null, email: null, operator: null }

type LinkFields = Partial<typeof none | store.InvitationRow> &
  Pick<store.InvitationRow, 'kind' | 'invited_by' | 'delivery'> & { readonly minutes: number }

/** Stores a link of one use. The token is after the #, so that no proxy logs it. */
const makeLink = async (
  tx: Tx,
  base: string,
  page: 'claim' | 'invitation' | 'email-proof',
  fields: LinkFields,
): Promise<Link> => {
  const token = makeToken()
  const id = uuid()
  const { expires_at } = await store.add(tx, { ...none, ...fields, id, tokenHash: keyHash(token) })
  return { uuid: print('INV', id), url: `${base}/console/${page}#${token}`, expires_at: iso(expires_at) }
}

/** Creates a claim link. Earlier ones stay valid, as several processes may print theirs.
 *  @throws Problem 410 if the installation has its first person */
export const makeClaimLink = async (tx: Tx, base: string, invitedBy: string): Promise<Link> => {
  if (await persons.isClaimed(tx)) throw refusals.alreadyClaimed()
  const minutes = invitationMinutes
  return makeLink(tx, base, 'claim', { kind: 'claim', invited_by: invitedBy, delivery: 'link', minutes })
}

/** The maker of a link, and how the link reaches its reader. */
type Sender = { readonly invitedBy: string; readonly delivery: store.Delivery }

/** Creates an invitation for a user of an account. Earlier links of the user end. */
export const makeUserLink = async (
  tx: Tx,
  base: string,
  { account, user, invitedBy, delivery }: Sender & { readonly account: string; readonly user: string },
): Promise<Link> => {
  await store.deleteUnused(tx, { user, person: null })
  return makeLink(tx, base, 'invitation', {
    kind: 'invite',
    account_id: account,
    user_id: user,
    invited_by: invitedBy,
    delivery,
    minutes: invitationMinutes,
  })
}

/**
 * Creates a link with which a person sets a new password. Earlier ones end.
 * @param account whose administrator makes it; null for an operator
 */
export const makePasswordLink = async (
  tx: Tx,
  base: string,
  { person, account, invitedBy, delivery }: Sender & { readonly person: string; readonly account: string | null },
): Promise<Link> => {
  await store.deleteUnused(tx, { user: null, person })
  return makeLink(tx, base, 'invitation', {
    kind: 'password',
    person_id: person,
    account_id: account,
    invited_by: invitedBy,
    delivery,
    minutes: passwordLinkMinutes,
  })
}

/**
 * Creates a link that a person who forgot the password is mailed. Earlier ones stay valid until one is used: otherwise
 * anyone who knows the address could end them, again and again.
 */
export const makeResetLink = (tx: Tx, base: string, person: string): Promise<Link> =>
  makeLink(tx, base, 'invitation', {
    kind: 'password',
    person_id: person,
    invited_by: '',
    delivery: 'mail',
    minutes: proofLinkMinutes,
  })

/** Creates a link that proves the address of a person. Earlier ones end. */
export const makeProofLink = async (tx: Tx, base: string, person: string): Promise<Link> => {
  await store.deleteUnusedProofs(tx, person)
  return makeLink(tx, base, 'email-proof', {
    kind: 'proof',
    person_id: person,
    invited_by: '',
    delivery: 'mail',
    minutes: proofLinkMinutes,
  })
}

/** Creates an invitation to operate the installation. */
export const makeOperatorLink = (
  tx: Tx,
  base: string,
  {
    email,
    operator,
    invitedBy,
    delivery,
  }: Sender & { readonly email: string; readonly operator: persons.OperatorRole },
): Promise<Link> =>
  makeLink(tx, base, 'invitation', {
    kind: 'invite',
    email,
    operator,
    invited_by: invitedBy,
    delivery,
    minutes: invitationMinutes,
  })
