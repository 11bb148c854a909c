import type { Tx } from '../../../platform/db/sql.ts'
import type { JobKind } from '../../../platform/jobs/job-kind.ts'
import { parse } from '../../../platform/lib/id.ts'
import type { Services } from '../../../services.ts'
import { queueMail } from '../../mail/ops.ts'
import { makeResetLink } from '../invitations/links.ts'
import * as invitations from '../invitations/store.ts'
import { maxCandidates, maxMailedLinks, maxNamedAccounts } from '../limits.ts'
import * as persons from '../store.ts'

/** Kind of the job that mails links to the persons of an address who forgot a password. */
export const resetKind = 'persons.reset'

/** `email`: in the form in which addresses are compared. */
export type ResetPayload = { readonly email: string }

/**
 * Mails one link for each person of an address: the one who proved it alone, else those who use it unproved. All of them
 * are for the mailbox that their accounts invited.
 */
const mailResetLinks = async (tx: Tx, services: Services, email: string): Promise<void> => {
  const candidates = await persons.candidates(tx, email, null, maxCandidates)
  const proved = candidates.find(({ email_proved_at }) => email_proved_at !== null)
  const links: { account: string | null; link: string }[] = []
  const issued: string[] = []
  let expiresAt = ''
  // The owner of the address always gets one link an hour: strangers, and persons of other addresses of the mailbox, use up
  // the limits of mail.
  const isOwed = proved !== undefined && (await invitations.countResets(tx, proved.id)) === 0
  for (const person of proved ? [proved] : candidates) {
    if (person.suspended_at || (await invitations.countMailed(tx, person.id)) >= maxMailedLinks) continue
    const { uuid, url, expires_at } = await makeResetLink(tx, services.publicUrl(), person.id)
    issued.push(parse('INV', uuid) ?? '')
    expiresAt = expires_at
    links.push({ account: proved ? null : await namesOfAccounts(tx, person.id), link: url })
  }
  const [first] = candidates
  if (links.length === 0 || !first) return
  const values = { links, expires_at: expiresAt }
  const mail = { to: (proved ?? first).email, template: 'password_reset', values, account: null, isOwed } as const
  // A link that is not mailed must not count as one that works.
  if ((await queueMail(tx, services, mail)) === null) await invitations.deleteLinks(tx, issued)
}

const namesOfAccounts = async (tx: Tx, person: string): Promise<string | null> =>
  (await persons.activeAccounts(tx, [person], maxNamedAccounts)).map(({ name }) => name).join(', ') || null

/** Jobs of persons. */
export const personJobs = (services: Services): JobKind[] => {
  const reset: JobKind<ResetPayload> = {
    kind: resetKind,
    concurrency: 2,
    batch: 16,
    leaseSeconds: 30,
    maxAttempts: 5,
    onComplete: async (tx, done) => {
      for (const { job } of done) await mailResetLinks(tx, services, job.payload.email)
    },
  }
  return [reset]
}
