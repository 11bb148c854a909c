import type { Sql } from '../../platform/db/sql.ts'
import { refuse } from '../../platform/http/problem.ts'
import { channelOf } from '../msgapp/channels/ops.ts'
import { type Detail, type DetailType, readDetail, unique } from './details.ts'
import { refusals } from './refusals.ts'

// Details and channel of a contact in bodies of requests.

type DetailInput = readonly { readonly type: DetailType; readonly value: string }[]
type Lists = { contact_details?: DetailInput | object; contact_detail?: DetailInput | object }

/**
 * Reads the details of a body, under either name; null if there are none.
 * @param place of the fields within the body, such as `fields.`
 * @throws Problem 400, 422
 */
export const detailsIn = (body: Lists, place = ''): Detail[] | null => {
  for (const name of ['contact_details', 'contact_detail'] as const) {
    const entries = body[name]
    if (!Array.isArray(entries)) continue
    const list: DetailInput = entries
    const read = list.map(({ type, value }, i): Detail => {
      const detail = readDetail(type, value)
      const field = `${place}${name}.${i}.value`
      if (detail === 'phone') throw refusals.badPhone(field)
      if (detail === 'email') throw refusals.badEmail(field)
      return detail === 'empty' ? refuse(refusals.emptyDetail(field)) : detail
    })
    return unique(read)
  }
  return null
}

/**
 * Finds the channel of the messaging app that a request names, without prefix.
 * @throws the 404 Problem
 */
export const channelIn = async (
  sql: Sql,
  account: string,
  printed: string | null | undefined,
): Promise<string | null> => (printed ? (await channelOf(sql, account, printed)).id : null)
