import type { ServiceResult } from '../../ports/supplier.ts'
import { type Fields, fieldsOf, listOf, textOf } from './codec/fields.ts'
import { digitsOf } from './codec/numbers.ts'
import type { GraphClient } from './graph-client.ts'
import { maxPhonePages } from './limits.ts'

/** A number of the business account. */
export type Phone = { readonly id: string; readonly digits: string; readonly name: string | null }

const fields = 'id,display_phone_number,verified_name'

const phoneOf = (one: Fields): Phone[] => {
  const id = textOf(one.id)
  const digits = digitsOf(textOf(one.display_phone_number) ?? '')
  return id === null || digits === '' ? [] : [{ id, digits, name: textOf(one.verified_name) }]
}

/** Lists all numbers of a business account. */
export const listPhones = async (client: GraphClient, account: string): Promise<ServiceResult<readonly Phone[]>> => {
  const phones: Phone[] = []
  let after: string | null = null
  for (let page = 0; page < maxPhonePages; page++) {
    const query: Record<string, string> = { fields, limit: '100', ...(after === null ? {} : { after }) }
    const result = await client.request({ path: `${encodeURIComponent(account)}/phone_numbers`, query })
    if (result.outcome !== 'done') return result
    phones.push(...listOf(result.value.data).flatMap(phoneOf))
    const paging = fieldsOf(result.value.paging)
    after = textOf(fieldsOf(paging.cursors).after)
    if (after === null || textOf(paging.next) === null) break
  }
  return { outcome: 'done', value: phones }
}
