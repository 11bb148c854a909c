import type { Tx } from '../../platform/db/sql.ts'
import type { Audit } from '../../platform/http/audit-entry.ts'
import type { Account } from '../../platform/http/auth.ts'
import { ok, route } from '../../platform/http/endpoint.ts'
import { pageOf } from '../../platform/http/paging.ts'
import { refuse } from '../../platform/http/problem.ts'
import { parse } from '../../platform/lib/id.ts'
import type { Services } from '../../services.ts'
import { fieldsIn } from './contact-fields.ts'
import { makeContactList } from './contact-list.ts'
import { presentContact } from './contact-presenter.ts'
import * as c from './contract.ts'
import { toInput } from './details.ts'
import * as ops from './ops.ts'
import { refusals } from './refusals.ts'
import { channelIn, detailsIn, withStored } from './request-fields.ts'
import { search } from './search/contact-search.ts'
import * as store from './store.ts'

type BlockInput = {
  readonly account: Account
  readonly params: { readonly contact_uuid: string }
  readonly tx: Tx
  readonly audit: Audit
}

export const contactRoutes = ({ db, quotas }: Services) => {
  const listPage = makeContactList(db)

  const setBlocked =
    (isBlocked: boolean) =>
    async ({ account, params, tx, audit }: BlockInput) => {
      const was = await ops.findLocked(tx, account.id, params.contact_uuid)
      const contact = await ops.setBlocked(tx, was, isBlocked)
      await audit(tx, { before: { blocked: was.blocked_at !== null }, after: { blocked: isBlocked } })
      return ok({ contact: presentContact(contact) })
    }

  return [
    route(c.createContact, async ({ account, body, tx }) => {
      const details = detailsIn(body) ?? refuse(refusals.noDetails())
      const channel_id = await channelIn(tx, account.id, body.channel_uuid)
      const draft = { ...fieldsIn(body), channel_id, details: withStored(details, []) }
      return ok({ contact: presentContact(await ops.create(tx, quotas, account, draft)) })
    }),

    route(c.updateContact, async ({ account, params, body, tx }) => {
      const details = detailsIn(body)
      const was = await ops.findLocked(tx, account.id, params.contact_uuid)
      const isMoved = body.channel_uuid !== undefined
      const contact = await ops.change(tx, was, {
        ...fieldsIn(body, (name) => was[name]),
        channel_id: isMoved ? await channelIn(tx, account.id, body.channel_uuid) : was.channel_id,
        details: details ? withStored(details, was.details) : was.details.map(toInput),
      })
      return ok({ contact: presentContact(contact) })
    }),

    route(c.listContacts, async ({ account, query }) => ok(await listPage(account.id, query))),

    route(c.searchContacts, async ({ account, query }) => {
      const { page, limit, offset } = pageOf(query)
      const text = query.q ?? query.query
      if (text === undefined) {
        const { next_cursor: _, ...rest } = await listPage(account.id, query)
        return ok(rest)
      }
      const channel = await channelIn(db, account.id, query.channel_uuid)
      const { contacts, total } = await search(db, account.id, text, { channel, limit, offset })
      return ok({ count: contacts.length, page, total, contacts: contacts.map(presentContact) })
    }),

    route(c.blockContact, setBlocked(true)),
    route(c.unblockContact, setBlocked(false)),

    route(c.getContact, async ({ account, params }) => {
      return ok({ contact: presentContact(await ops.find(db, account.id, params.contact_uuid)) })
    }),

    route(c.deleteContact, async ({ account, params, tx }) => {
      const id = parse('CON', params.contact_uuid)
      const gone = id ? await store.remove(tx, account.id, [id]) : 0
      if (gone === 0) throw refusals.unknownContact(params.contact_uuid)
      await store.count(tx, account.id, -1, null)
      return ok({})
    }),
  ]
}
