import assert from 'node:assert/strict'
import { placeOf } from '../src/domains/mail/ops.ts'
import { resetKind } from '../src/domains/persons/mailed-links/jobs.ts'
import { mailboxKey } from '../src/platform/lib/mail-address.ts'
import { until } from './platform.ts'
import type { World } from './world.ts'

// Mails of a world without a mail server: they stay in the queue, and a test reads them there.

/** Settings of a world that sends mail. */
export const mailSettings = {
  TRUNKLINE_SMTP_URL: 'smtp://127.0.0.1:9',
  TRUNKLINE_MAIL_FROM: 'Trunkline <no-reply@example.com>',
}

type Mail = { readonly template: string; readonly values: Readonly<Record<string, unknown>> }

/** Returns the mails to an address, oldest first. */
export const mailsTo = async ({ db, parts }: Pick<World, 'db' | 'parts'>, email: string): Promise<Mail[]> => {
  const rows = await db.many<{ id: string; template: string; sealed_values: Buffer }>`
    select id, template, sealed_values from mails where recipient_key = ${mailboxKey(email)} order by created_at, id`
  return rows.map(({ id, template, sealed_values }) => ({
    template,
    values: JSON.parse(parts.seal.openBytes(sealed_values, placeOf(id)).toString()),
  }))
}

/** Returns the link of the newest mail of a kind to an address. */
export const mailedLink = async (world: Pick<World, 'db' | 'parts'>, email: string, template: string) => {
  const mail = (await mailsTo(world, email)).findLast((one) => one.template === template)
  assert.ok(mail, `no ${template} to ${email}`)
  const { link, links } = mail.values
  // As the values of the templates have it.
  return String(link ?? (links as { link: string }[])[0]?.link)
}

/** Waits until a worker has handled all requests for new passwords. */
export const resetsAreDone = async ({ db }: Pick<World, 'db'>): Promise<void> => {
  await until(async () => (await db.maybe`select 1 from jobs where kind = ${resetKind} limit 1`) === null)
}
