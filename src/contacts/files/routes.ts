import { Readable } from 'node:stream'
import { ok, serveOutside } from '../../http/endpoint.ts'
import { holdDownload } from '../../http/limiters.ts'
import { invalid, Problem } from '../../http/problem.ts'
import { countryBy } from '../../lib/phone.ts'
import type { Parts } from '../../parts.ts'
import { load } from '../ops.ts'
import { page } from '../store.ts'
import { cardOf, readCards } from './card.ts'
import * as c from './contract.ts'
import { csvHead, csvLine, readCsv } from './csv.ts'
import { importContacts, type Outcome } from './run.ts'

const named = 5

const refusal = ({ read, faults }: Outcome): Problem => {
  const first = faults.kept.slice(0, named).map(({ line, error }) => `line ${line}: ${error}`)
  const rest = faults.count > named ? `; and ${faults.count - named} more` : ''
  const what = `${faults.count} bad of ${read} ${read === 1 ? 'contact' : 'contacts'}`
  const told = { bad_lines: faults.count, lines: faults.kept }
  return new Problem('invalid', `Nothing was imported: ${what}; ${first.join('; ')}${rest}`, 'invalid_file', {}, told)
}

/** Contacts that an export holds in memory at a time. */
const part = 500

export const contactFileRoutes = ({ db, quotas, limiters }: Parts) => {
  const readPart = async (account: string, after: string | null) => {
    const ids: string[] = (await page(db, account, after, part, 0)).map(({ id }) => id)
    return { ids, contacts: await load(db, account, ids) }
  }

  async function* textOf(account: string, form: 'csv' | 'vcf') {
    if (form === 'csv') yield csvHead
    const write = form === 'csv' ? csvLine : cardOf
    let after: string | null = null
    for (;;) {
      const { ids, contacts } = await limiters.database.run(account, () => readPart(account, after))
      if (contacts.length > 0) yield contacts.map(write).join('')
      if (ids.length < part) return
      after = ids.at(-1) ?? null
    }
  }

  return [
    serveOutside(c.importContacts, async ({ account, body, query, request }) => {
      if (body === undefined) invalid('The body must be a file of contacts, of CSV or vCards', 'invalid_file')
      const { duplicates = 'skip', bad_lines = 'refuse', country: code } = query
      const country = code === undefined ? undefined : (countryBy(code) ?? invalid(`country: there is no ${code}`))
      const isCsv = request.headers['content-type']?.toLowerCase().startsWith('text/csv')
      const file = isCsv ? readCsv(body, country) : readCards(body, country)
      const outcome = await importContacts(db, quotas, account, file, { duplicates, skipBad: bad_lines === 'skip' })
      const { faults, read, created, merged, skipped } = outcome
      if (faults.count > 0 && (bad_lines === 'refuse' || read === 0)) throw refusal(outcome)
      return ok({ read, created, merged, skipped, bad_lines: faults.count, lines: [...faults.kept] })
    }),

    serveOutside(c.exportContacts, async ({ account, query, reply }) => {
      const { format = 'csv' } = query
      holdDownload(limiters, account.id, reply)
      reply.headers({
        'content-type': format === 'csv' ? 'text/csv; charset=utf-8; header=present' : 'text/vcard; charset=utf-8',
        'content-disposition': `attachment; filename="contacts.${format}"`,
      })
      return Readable.from(textOf(account.id, format), { objectMode: false })
    }),
  ]
}
