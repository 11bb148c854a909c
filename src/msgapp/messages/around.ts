import { knownBy } from '../../contacts/ops.ts'
import type { Links } from '../../lib/links.ts'
import { type MessageRow, remoteNumber, type Surroundings } from './shown.ts'

const wantedOf = (rows: readonly MessageRow[]) => {
  const wanted = new Map<string, { account: string; number: string }>()
  for (const row of rows) {
    const number = remoteNumber(row)
    if (number !== null) wanted.set(`${row.account_id} ${number}`, { account: row.account_id, number })
  }
  return [...wanted.values()]
}

/** What messages are shown with: links to their files, and who stands at the other end. */
export const makeSurroundings =
  (links: Links): Surroundings =>
  async (sql, rows) => {
    const known = await knownBy(sql, wantedOf(rows))
    return { link: links.of, contact: (account, number) => known.get(`${account} ${number}`) ?? null }
  }
