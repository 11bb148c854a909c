import { ok, route, routeWithoutTransaction } from '../../platform/http/endpoint.ts'
import { cursorsOf } from '../../platform/http/list-cursor.ts'
import { cutPage, nextOf, requestedPage } from '../../platform/http/paging.ts'
import { refuse } from '../../platform/http/problem.ts'
import { iso } from '../../platform/lib/clock.ts'
import { print, uuid } from '../../platform/lib/id.ts'
import { mailAddress, mailboxKey } from '../../platform/lib/mail-address.ts'
import type { Services } from '../../services.ts'
import * as c from './contract.ts'
import { refusals } from './refusals.ts'
import { renderMail } from './render.ts'
import * as store from './store.ts'
import type { MailValues, TemplateName } from './templates.ts'

const present = (row: store.MailRow) => ({
  uuid: print('EML', row.id),
  to: row.recipient,
  // Rows have names of templates.
  template: row.template as Exclude<TemplateName, 'test'>,
  state: row.state,
  attempts: row.attempts,
  ...(row.outcome === null ? {} : { outcome: row.outcome }),
  ...(row.account_id ? { account_uuid: print('ACC', row.account_id) } : {}),
  created_at: iso(Date.parse(row.created_at)),
  ...(row.ended_at ? { ended_at: iso(row.ended_at) } : {}),
})

const notConfigured = { outcome: 'failed', step: 'settings', error: refusals.notConfigured().message } as const

/** @throws Problem 400 */
const addressOf = (value: string): string => mailAddress(value) ?? refuse(refusals.badRecipient(value))

const noValues: MailValues['test'] = {}

export const mailRoutes = ({ db, mail, publicUrl }: Services) => {
  const cursors = cursorsOf(c.listMails)
  return [
    route(c.listMails, async ({ query }) => {
      const pageRequest = requestedPage(query, cursors.key(query.cursor))
      const recipientKey = query.to === undefined ? null : mailboxKey(addressOf(query.to))
      const found = await store.page(db, { state: query.state ?? null, recipientKey }, pageRequest.read)
      const { rows, fields } = cutPage(pageRequest, found, ({ created_at, id }) =>
        cursors.write({ time: created_at, id }),
      )
      return ok({ count: rows.length, mails: rows.map(present), ...nextOf(fields) })
    }),

    routeWithoutTransaction(c.testMail, async ({ body, audit }) => {
      const to = addressOf(body.to)
      const id = uuid()
      const result = mail.isConfigured
        ? await mail.send(id, to, renderMail('test', noValues, publicUrl()))
        : notConfigured
      const working = result.outcome === 'sent'
      await audit(null, { target: print('EML', id), after: { working } })
      return ok(
        result.outcome === 'sent'
          ? { working, message: result.reply }
          : { working, step: result.step, message: result.error },
      )
    }),
  ]
}
