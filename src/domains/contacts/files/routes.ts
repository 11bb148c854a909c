import { Readable } from 'node:stream'
import { countryBy } from '@trunkline/phone/phone.ts'
import { ok, routeWithoutTransaction } from '../../../platform/http/endpoint.ts'
import { type Problem, refuse } from '../../../platform/http/problem.ts'
import { refusals as httpRefusals } from '../../../platform/http/refusals.ts'
import { countDownload } from '../../../platform/http/request-limiters.ts'
import { print } from '../../../platform/lib/id.ts'
import type { Services } from '../../../services.ts'
import { exportChunkSize, maxNamedFaults } from '../limits.ts'
import { load } from '../ops.ts'
import { refusals } from '../refusals.ts'
import { page } from '../store.ts'
import { csvHead, csvLine, readCsv } from './contact-csv.ts'
import { type ImportResult, importContacts } from './contact-import.ts'
import * as c from './contract.ts'
import { formatVcard, readVcards } from './vcard.ts'

const everyContact = { channel: null, isBlocked: false, sort: 'created_at' } as const

const refusal = ({ read, faults }: ImportResult): Problem => {
  const first = faults.listed.slice(0, maxNamedFaults).map(({ line, error }) => `line ${line}: ${error}`)
  const rest = faults.count > maxNamedFaults ? `; and ${faults.count - maxNamedFaults} more` : ''
  const what = `${faults.count} bad of ${read} ${read === 1 ? 'contact' : 'contacts'}`
  const report = { bad_lines: faults.count, lines: faults.listed }
  return httpRefusals.fileRejected(`${what}; ${first.join('; ')}${rest}`, 'invalid_file', report)
}

export const contactFileRoutes = ({ db, quotas, limiters }: Services) => {
  const readPart = async (account: string, after: string | null) => {
    const at = { after: after === null ? null : [after], skip: 0, limit: exportChunkSize }
    const ids: string[] = (await page(db, account, everyContact, at)).map(({ id }) => id)
    return { ids, contacts: await load(db, account, ids) }
  }

  async function* textOf(account: string, form: 'csv' | 'vcf') {
    if (form === 'csv') yield csvHead
    const write = form === 'csv' ? csvLine : formatVcard
    let after: string | null = null
    for (;;) {
      const { ids, contacts } = await limiters.database.run(account, () => readPart(account, after))
      if (contacts.length > 0) yield contacts.map(write).join('')
      if (ids.length < exportChunkSize) return
      after = ids.at(-1) ?? null
    }
  }

  return [
    routeWithoutTransaction(c.importContacts, async ({ account, body, query, request }) => {
      if (body === undefined) throw refusals.bodyNotContacts()
      const { duplicates = 'skip', bad_lines = 'refuse', country: code } = query
      const country = code === undefined ? undefined : (countryBy(code) ?? refuse(refusals.unknownCountry(code)))
      const isCsv = request.headers['content-type']?.toLowerCase().startsWith('text/csv')
      const file = isCsv ? readCsv(body, country) : readVcards(body, country)
      const outcome = await importContacts(db, quotas, account, file, { duplicates, skipBad: bad_lines === 'skip' })
      const { faults, read, created, merged, skipped } = outcome
      if (faults.count > 0 && (bad_lines === 'refuse' || read === 0)) throw refusal(outcome)
      return ok({ read, created, merged, skipped, bad_lines: faults.count, lines: [...faults.listed] })
    }),

    routeWithoutTransaction(c.exportContacts, async ({ account, query, reply, audit }) => {
      const { format = 'csv' } = query
      countDownload(limiters, account.id, reply)
      await audit(null, { target: print('ACC', account.id), after: { format } })
      reply.headers({
        'content-type': format === 'csv' ? 'text/csv; charset=utf-8; header=present' : 'text/vcard; charset=utf-8',
        'content-disposition': `attachment; filename="contacts.${format}"`,
      })
      return Readable.from(textOf(account.id, format), { objectMode: false })
    }),
  ]
}
