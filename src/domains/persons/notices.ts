import type { FastifyRequest } from 'fastify'
import type { Tx } from '../../platform/db/sql.ts'
import { iso } from '../../platform/lib/clock.ts'
import type { Services } from '../../services.ts'
import { type NewMail, queueMail } from '../mail/ops.ts'
import { allowanceOf } from './known-browser.ts'
import { isNewBrowser } from './sessions/new-browser.ts'
import * as store from './store.ts'

// Mails about what happened to a person. They go to proved addresses only: another address may be that of a stranger.

type SecurityChange = Extract<NewMail, { template: 'security_changed' }>['values']['change']

type Deps = Pick<Services, 'mail' | 'seal' | 'publicUrl'>

/** Queues a mail about a change of the person's security settings, in the transaction of the change. */
export const noticeChange = async (
  tx: Tx,
  services: Deps,
  request: FastifyRequest,
  person: string,
  change: SecurityChange,
): Promise<void> => {
  const to = services.mail.isConfigured ? await store.provedEmail(tx, person) : null
  if (to === null) return
  const values = { change, at: iso(Date.now()), address: request.ip }
  await queueMail(tx, services, { to, template: 'security_changed', values, account: null })
}

/** Queues a mail about a sign-in from a browser or network that the person did not use before. */
export const noticeSignIn = async (
  tx: Tx,
  services: Deps,
  request: FastifyRequest,
  person: store.PersonRow,
): Promise<void> => {
  if (!services.mail.isConfigured || person.email_proved_at === null) return
  if (allowanceOf(services, request, person) !== null || !(await isNewBrowser(tx, request, person.id))) return
  const values = { at: iso(Date.now()), address: request.ip, browser: request.headers['user-agent'] ?? '' }
  await queueMail(tx, services, { to: person.email, template: 'new_sign_in', values, account: null })
}
