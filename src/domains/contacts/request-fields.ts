import type { Sql } from '../../platform/db/sql.ts'
import { channelOf } from '../msgapp/channels/ops.ts'
import { type Detail, type DetailRow, type DetailType, readDetail, toInput, unique } from './details.ts'
import { refusals } from './refusals.ts'

// Details and channel of a contact in bodies of requests.

type DetailInput = readonly {
  readonly type: DetailType
  readonly value: string
  readonly label?: string | null
  readonly extension?: string | null
}[]
type Lists = { contact_details?: DetailInput | object; contact_detail?: DetailInput | object }

/** A detail of a body, which may leave out its label and its extension. */
type SubmittedDetail = Detail & { readonly has: { readonly label: boolean; readonly extension: boolean } }

/**
 * Reads the details of a body, under either name; null if there are none.
 * @param place of the fields within the body, such as `fields.`
 * @throws Problem 400, 422
 */
export const detailsIn = (body: Lists, place = ''): SubmittedDetail[] | null => {
  for (const name of ['contact_details', 'contact_detail'] as const) {
    const entries = body[name]
    if (!Array.isArray(entries)) continue
    const list: DetailInput = entries
    return list.map(({ type, value, label, extension }, i): SubmittedDetail => {
      const detail = readDetail(type, value, { label: label ?? null, extension: extension ?? null })
      const field = `${place}${name}.${i}.value`
      if (detail === 'phone') throw refusals.badPhone(field)
      if (detail === 'email') throw refusals.badEmail(field)
      if (detail === 'empty') throw refusals.emptyDetail(field)
      return { ...detail, has: { label: label !== undefined, extension: extension !== undefined } }
    })
  }
  return null
}

/**
 * Returns each detail once. Clients that know no labels and extensions leave them out: those of a stored detail stay.
 * @param had the stored details
 */
export const withStored = (submitted: readonly SubmittedDetail[], had: readonly DetailRow[]): Detail[] => {
  const rest = had.map(toInput)
  return unique(
    submitted.map(({ has, ...detail }) => {
      const at = rest.findIndex(
        ({ key, extension }) => key === detail.key && (!has.extension || extension === detail.extension),
      )
      const [row] = at < 0 ? [] : rest.splice(at, 1)
      return {
        ...detail,
        label: has.label ? detail.label : (row?.label ?? null),
        extension: has.extension ? detail.extension : (row?.extension ?? null),
      }
    }),
  )
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
