import { Readable } from 'node:stream'
import { countryBy } from '@trunkline/phone/phone.ts'
import { ok, routeWithoutTransaction } from '../../../platform/http/endpoint.ts'
import { invalid, Problem } from '../../../platform/http/problem.ts'
import { countDownload } from '../../../platform/http/request-limiters.ts'
import type { Services } from '../../../services.ts'
import { load } from '../ops.ts'
import { page } from '../store.ts'
import { csvHead, csvLine, readCsv } from './contact-csv.ts'
import { type ImportResult, importContacts } from './contact-import.ts'
import * as c from './contract.ts'
import { formatVcard, readVcards } from './vcard.ts'

const named = 5

const refusal = ({ read, faults }: ImportResult): Problem => {
  const first = faults.listed.slice(0, named).map(({ line, error }) => `line ${line}: ${error}`)
  const rest = faults.count > named ? `; and ${faults.count - named} more` : ''
  const what = `${faults.count} bad of ${read} ${read === 1 ? 'contact' : 'contacts'}`
  const told = { bad_lines: faults.count, lines: faults.listed }
  return new Problem('invalid', `Nothing was imported: ${what}; ${first.join('; ')}${rest}`, 'invalid_file', {}, told)
}

/** Contacts in memory at a time during an export. */
const chunkSize = 500

export const contactFileRoutes = ({ db, quotas, limiters }: Services) => {
  const readPart = async (account: string, after: string | null) => {
    const at = { after: after === null ? null : [after], skip: 0, limit: chunkSize }
    const ids: string[] = (await page(db, account, null, at)).map(({ id }) => id)
    return { ids, contacts: await load(db, account, ids) }
  }

  async function* textOf(account: string, form: 'csv' | 'vcf') {
    if (form === 'csv') yield csvHead
    const write = form === 'csv' ? csvLine : formatVcard
    let after: string | null = null
    for (;;) {
      const { ids, contacts } = await limiters.database.run(account, () => readPart(account, after))
      if (contacts.length > 0) yield contacts.map(write).join('')
      if (ids.length < chunkSize) return
      after = ids.at(-1) ?? null
    }
  }

  return [
    routeWithoutTransaction(c.importContacts, async ({ account, body, query, request }) => {
      if (body === undefined) invalid('The body must be a file of contacts, as CSV or vCards', 'invalid_file')
      const { duplicates = 'skip', bad_lines = 'refuse', country: code } = query
      const country = code === undefined ? undefined : (countryBy(code) ?? invalid(`country: ${code} is unknown`))
      const isCsv = request.headers['content-type']?.toLowerCase().startsWith('text/csv')
      const file = isCsv ? readCsv(body, country) : readVcards(body, country)
      const outcome = await importContacts(db, quotas, account, file, { duplicates, skipBad: bad_lines === 'skip' })
      const { faults, read, created, merged, skipped } = outcome
      if (faults.count > 0 && (bad_lines === 'refuse' || read === 0)) throw refusal(outcome)
      return ok({ read, created, merged, skipped, bad_lines: faults.count, lines: [...faults.listed] })
    }),

    routeWithoutTransaction(c.exportContacts, async ({ account, query, reply }) => {
      const { format = 'csv' } = query
      countDownload(limiters, account.id, reply)
      reply.headers({
        'content-type': format === 'csv' ? 'text/csv; charset=utf-8; header=present' : 'text/vcard; charset=utf-8',
        'content-disposition': `attachment; filename="contacts.${format}"`,
      })
      return Readable.from(textOf(account.id, format), { objectMode: false })
    }),
  ]
}
