import type { Sql } from '../../platform/db/sql.ts'
import { cursorsOf } from '../../platform/http/cursor.ts'
import { ok, route } from '../../platform/http/endpoint.ts'
import { cutPage, type PagingQuery, pageOf, requestedPage, totalFields } from '../../platform/http/paging.ts'
import { refuse } from '../../platform/http/problem.ts'
import { parse } from '../../platform/lib/id.ts'
import type { Services } from '../../services.ts'
import { channelOf } from '../msgapp/channels/ops.ts'
import { presentContact } from './contact-presenter.ts'
import * as c from './contract.ts'
import { type Detail, type DetailType, readDetail, toInput, unique } from './details.ts'
import * as ops from './ops.ts'
import { refusals } from './refusals.ts'
import { search } from './search/search.ts'
import * as store from './store.ts'

type DetailInput = readonly { readonly type: DetailType; readonly value: string }[]
type Lists = { contact_details?: DetailInput | object; contact_detail?: DetailInput | object }

/**
 * Reads the details of a body, under either name; null if there are none.
 * @throws Problem 400, 422
 */
const detailsOf = (body: Lists): Detail[] | null => {
  for (const name of ['contact_details', 'contact_detail'] as const) {
    const entries = body[name]
    if (!Array.isArray(entries)) continue
    const list: DetailInput = entries
    const read = list.map(({ type, value }, i): Detail => {
      const detail = readDetail(type, value)
      const field = `${name}.${i}.value`
      if (detail === 'phone') throw refusals.badPhone(field)
      if (detail === 'email') throw refusals.badEmail(field)
      return detail === 'empty' ? refuse(refusals.emptyDetail(field)) : detail
    })
    return unique(read)
  }
  return null
}

/**
 * Finds the channel of the messaging app that a body names, without prefix.
 * @throws the 404 Problem
 */
const channelIn = async (sql: Sql, account: string, printed: string | null | undefined): Promise<string | null> =>
  printed ? (await channelOf(sql, account, printed)).id : null

type ListQuery = PagingQuery & { channel_uuid?: string }

const cursors = cursorsOf(c.listContacts)

/** The account's contacts are counted as they change. */
const exactTotal = (total: number): ReturnType<typeof totalFields> => ({ total })

export const contactRoutes = ({ db, quotas }: Services) => {
  const listPage = async (account: string, query: ListQuery) => {
    const after = cursors.read(query.cursor)
    const channel = await channelIn(db, account, query.channel_uuid)
    const asked = requestedPage(query, after && [after.id])
    const found = await store.page(db, account, channel, asked.read)
    const { rows, fields } = cutPage(asked, found, ({ at, id }) => cursors.write({ time: at, id }))
    const [contacts, total] = await Promise.all([
      ops.load(
        db,
        account,
        rows.map(({ id }) => id),
      ),
      channel ? store.channelTotal(db, account, channel).then(totalFields) : store.total(db, account).then(exactTotal),
    ])
    return { ...fields, ...total, count: contacts.length, contacts: contacts.map(presentContact) }
  }

  return [
    route(c.createContact, async ({ account, body, tx }) => {
      const details = detailsOf(body) ?? refuse(refusals.noDetails())
      const { first_name, last_name = '', profile_pic_url } = body
      const draft = {
        first_name: first_name.trim(),
        last_name: last_name.trim(),
        profile_pic_url: profile_pic_url ?? null,
        channel_id: await channelIn(tx, account.id, body.channel_uuid),
        details,
      }
      return ok({ contact: presentContact(await ops.create(tx, quotas, account, draft)) })
    }),

    route(c.updateContact, async ({ account, params, body, tx }) => {
      const wanted = detailsOf(body)
      const id = parse('CON', params.contact_uuid) ?? refuse(refusals.unknownContact(params.contact_uuid))
      await store.lock(tx, account.id, [id])
      const [was = refuse(refusals.unknownContact(params.contact_uuid))] = await ops.load(tx, account.id, [id])
      const { first_name = was.first_name, last_name = was.last_name, profile_pic_url = was.profile_pic_url } = body
      const isMoved = body.channel_uuid !== undefined
      const contact = await ops.change(tx, was, {
        first_name: first_name.trim(),
        last_name: last_name?.trim() ?? '',
        profile_pic_url,
        channel_id: isMoved ? await channelIn(tx, account.id, body.channel_uuid) : was.channel_id,
        details: wanted ?? was.details.map(toInput),
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

    route(c.getContact, async ({ account, params }) => {
      const id = parse('CON', params.contact_uuid) ?? refuse(refusals.unknownContact(params.contact_uuid))
      const [contact = refuse(refusals.unknownContact(params.contact_uuid))] = await ops.load(db, account.id, [id])
      return ok({ contact: presentContact(contact) })
    }),

    route(c.deleteContact, async ({ account, params, tx }) => {
      const id = parse('CON', params.contact_uuid)
      const gone = id ? await store.remove(tx, account.id, id) : 0
      if (gone === 0) throw refusals.unknownContact(params.contact_uuid)
      await store.count(tx, account.id, -1, null)
      return ok({})
    }),
  ]
}
