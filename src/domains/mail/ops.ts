import type { Tx } from '../../platform/db/sql.ts'
import { enqueue } from '../../platform/jobs/queue.ts'
import { uuid } from '../../platform/lib/id.ts'
import { mailAddress, mailboxKey } from '../../platform/lib/mail-address.ts'
import type { Seal } from '../../platform/lib/secret.ts'
import { mailsPerDay, maxLinkLength, maxLinks, perRecipient } from './limits.ts'
import type { Mailer } from './mailer.ts'
import { refusals } from './refusals.ts'
import * as store from './store.ts'
import { type MailValues, type TemplateName, templates } from './templates.ts'

/** Kind of the job that sends a mail. */
export const sendKind = 'mail.send'

export type SendPayload = { readonly mail: string }

type Deps = { readonly mail: Mailer; readonly seal: Seal; readonly publicUrl: () => string }

/** A mail to send: the template decides the values. */
export type NewMail = {
  readonly [Name in Exclude<TemplateName, 'test'>]: {
    readonly to: string
    readonly template: Name
    readonly values: MailValues[Name]
    /** Bare id of the account that causes the mail, whose limit counts; null for the installation. */
    readonly account: string | null
    /** Goes out over the limits too: the caller bounds such mails itself. */
    readonly isOwed?: boolean
  }
}[Exclude<TemplateName, 'test'>]

/** The place that sealed values are bound to. */
export const placeOf = (id: string): string => `mail ${id}`

/** @throws Error for a link that leads elsewhere: a mail of ours carries only links to the console */
const checkLinks = (values: NewMail['values'], publicUrl: string): void => {
  const links = 'links' in values ? values.links.map(({ link }) => link) : 'link' in values ? [values.link] : []
  const { origin } = new URL(publicUrl)
  if (
    links.length > maxLinks ||
    links.some((link) => URL.parse(link)?.origin !== origin || link.length > maxLinkLength)
  )
    throw new Error('mail: a link does not lead to the console, or there are too many')
}

/**
 * Queues a mail in the caller's transaction; it is sent after the commit, with retries for a day.
 *
 * Invitations and proofs of an address are refused without a mail server and over a limit. Other mails are left out
 * then, as their cause must go on: the result is null.
 * @returns the bare id of the mail, or null
 * @throws Problem 400 for an address that mail cannot be sent to, 409 without a mail server, 429 over a limit
 */
export const queueMail = async (tx: Tx, { mail, seal, publicUrl }: Deps, message: NewMail): Promise<string | null> => {
  const { template, values, account } = message
  const refuses = templates[template].overLimit === 'refuse'
  if (!mail.isConfigured) {
    if (refuses) throw refusals.notConfigured()
    return null
  }
  checkLinks(values, publicUrl())
  const to = mailAddress(message.to)
  if (to === null) {
    if (refuses) throw refusals.badRecipient(message.to)
    return null
  }
  const recipientKey = mailboxKey(to)
  const problem = message.isOwed ? null : await overLimit(tx, account, recipientKey, template)
  if (problem) {
    tx.afterCommit(() => mail.count({ template, outcome: 'limited' }))
    if (refuses) throw problem
    return null
  }
  const id = uuid()
  const sealed = seal.closeBytes(Buffer.from(JSON.stringify(values)), placeOf(id))
  await store.add(tx, { id, account, recipient: to, recipientKey, template, sealed })
  const payload: SendPayload = { mail: id }
  await enqueue(tx, sendKind, { ...payload }, { id, ...(account ? { account } : {}) })
  return id
}

/** Templates that count for the limit of an account. */
const countedTemplates = Object.entries(templates).flatMap(([name, { overLimit }]) =>
  overLimit === 'refuse' ? [name] : [],
)

/**
 * Returns the refusal of a mail over a limit, or null. Mails of one account, and those to one mailbox, take turns. Mails
 * of other accounts do not count: no account can use up the limit of another.
 */
const overLimit = async (tx: Tx, account: string | null, recipientKey: string, template: NewMail['template']) => {
  const counted = templates[template].overLimit === 'refuse' && account !== null
  if (counted) {
    const { sent, most } = await store.countOfAccount(tx, account, countedTemplates, mailsPerDay)
    if (sent >= most) return refusals.accountLimit(most)
  }
  const { hour, day } = await store.countOfRecipient(tx, { account, recipientKey, template })
  if (day >= perRecipient.day) return refusals.recipientLimit(86_400)
  return hour >= perRecipient.hour ? refusals.recipientLimit(3_600) : null
}
