import type { Tx } from '../../../platform/db/sql.ts'
import type { Services } from '../../../services.ts'
import { queueMail } from '../../mail/ops.ts'
import { refusals as mailRefusals } from '../../mail/refusals.ts'
import type { Link } from './links.ts'
import type { Delivery } from './store.ts'

type Deps = Pick<Services, 'mail' | 'seal' | 'publicUrl'>

/** Returns how a link is delivered: by mail where the installation sends mail. @throws Problem 409 without a mail server */
export const deliveryOf = ({ mail }: Pick<Services, 'mail'>, requested: Delivery | undefined): Delivery => {
  if (requested === 'mail' && !mail.isConfigured) throw mailRefusals.notConfigured()
  return requested ?? (mail.isConfigured ? 'mail' : 'link')
}

/** A link, and the mailbox that it is for. */
type Letter = {
  readonly link: Link
  readonly delivery: Delivery
  readonly to: string
  /** Account that the mail counts for; null for the installation. */
  readonly account: string | null
}

/** Mails an invitation unless the caller is shown it. @throws Problem 400, 429 for an address that gets no mail */
export const deliverInvitation = async (
  tx: Tx,
  services: Deps,
  { link, delivery, to, account, ...names }: Letter & { readonly accountName: string; readonly inviter: string | null },
): Promise<{ readonly invite_url: string } | { readonly mailed_to: string }> => {
  if (delivery === 'link') return { invite_url: link.url }
  const values = { account: names.accountName, inviter: names.inviter, link: link.url, expires_at: link.expires_at }
  await queueMail(tx, services, { to, template: 'invitation', values, account })
  return { mailed_to: to }
}

/** Mails a password link unless the caller is shown it. */
export const deliverPasswordLink = async (
  tx: Tx,
  services: Deps,
  { link, delivery, to, account }: Letter,
): Promise<{ readonly url: string } | { readonly mailed_to: string }> => {
  if (delivery === 'link') return { url: link.url }
  const values = { links: [{ account: null, link: link.url }], expires_at: link.expires_at }
  if ((await queueMail(tx, services, { to, template: 'password_reset', values, account })) === null)
    throw mailRefusals.recipientLimit(3_600)
  return { mailed_to: to }
}
