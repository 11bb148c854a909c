import type { SignedLinks } from '../../../platform/lib/signed-links.ts'
import { contactsByNumber } from '../../contacts/ops.ts'
import { loadQuoted } from './content-presenter.ts'
import { type MessageRow, remoteNumber, type ViewContextLoader } from './message-presenter.ts'

const numbersOf = (rows: readonly MessageRow[]) => {
  const numbers = new Map<string, { account: string; number: string }>()
  for (const row of rows) {
    const number = remoteNumber(row)
    if (number !== null) numbers.set(`${row.account_id} ${number}`, { account: row.account_id, number })
  }
  return [...numbers.values()]
}

/** Looks up file links and contacts for presented messages. */
export const makeViewContextLoader =
  (links: SignedLinks): ViewContextLoader =>
  async (sql, rows) => {
    const known = await contactsByNumber(sql, numbersOf(rows))
    const quoted = await loadQuoted(sql, rows)
    return { link: links.urlOf, contact: (account, number) => known.get(`${account} ${number}`) ?? null, quoted }
  }
