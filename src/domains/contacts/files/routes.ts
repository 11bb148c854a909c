import { Readable } from 'node:stream'
import { countryBy } from '@trunkline/phone/phone.ts'
import type { FastifyRequest } from 'fastify'
import { ok, routeWithoutTransaction } from '../../../platform/http/endpoint.ts'
import { type Problem, refuse } from '../../../platform/http/problem.ts'
import { refusals as httpRefusals } from '../../../platform/http/refusals.ts'
import { countDownload } from '../../../platform/http/request-limiters.ts'
import { charsetOf } from '../../../platform/http/upload.ts'
import { print } from '../../../platform/lib/id.ts'
import { type ImportError, maxListedErrors } from '../../../platform/lib/import-errors.ts'
import { mediaTypeOf } from '../../../platform/lib/media-type.ts'
import { readText } from '../../../platform/lib/text-encoding.ts'
import type { Services } from '../../../services.ts'
import { exportChunkSize, maxNamedFaults } from '../limits.ts'
import { load } from '../ops.ts'
import { refusals } from '../refusals.ts'
import { page } from '../store.ts'
import { csvHead, csvLine, type FileNotes, readCsv } from './contact-csv.ts'
import { type ImportResult, importContacts } from './contact-import.ts'
import * as c from './contract.ts'
import { meanings, readMeanings } from './csv-columns.ts'
import { beginningOf, previewCards, previewCsv } from './preview.ts'
import { formatVcard, readVcards } from './vcard.ts'

const everyContact = { channel: null, isBlocked: false, sort: 'created_at' } as const

/** The bad lines, and what fits of the bad details, in the order of the file. */
const linesOf = ({ faults, left }: ImportResult): ImportError[] =>
  [...faults.listed, ...left.listed.slice(0, maxListedErrors - faults.listed.length)].sort((a, b) => a.line - b.line)

const refusal = (outcome: ImportResult, seen: object): Problem => {
  const { read, faults } = outcome
  const first = faults.listed.slice(0, maxNamedFaults).map(({ line, error }) => `line ${line}: ${error}`)
  const rest = faults.count > maxNamedFaults ? `; and ${faults.count - maxNamedFaults} more` : ''
  const what = `${faults.count} bad of ${read} ${read === 1 ? 'contact' : 'contacts'}`
  const report = { bad_lines: faults.count, lines: linesOf(outcome), ...seen }
  return httpRefusals.fileRejected(`${what}; ${first.join('; ')}${rest}`, 'invalid_file', report)
}

const isCsv = (request: FastifyRequest): boolean => mediaTypeOf(request.headers['content-type']) === 'text/csv'

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
      const { duplicates = 'skip', bad_lines = 'refuse', country: code, columns: given, header: hasHeader } = query
      const country = code === undefined ? undefined : (countryBy(code) ?? refuse(refusals.unknownCountry(code)))
      const columns = readMeanings(given ?? '') ?? refuse(refusals.unknownColumns(meanings.join(', ')))
      const notes: FileNotes = { ignored: new Set() }
      const file = readText(body, charsetOf(request))
      const entries = (isCsv(request) ? readCsv : readVcards)(file, notes, { country, columns, hasHeader })
      const outcome = await importContacts(db, quotas, account, entries, { duplicates, skipBad: bad_lines === 'skip' })
      const { faults, left, read, created, merged, skipped } = outcome
      const seen = { encoding: file.encoding, ignored_columns: [...notes.ignored] }
      if (faults.count > 0 && (bad_lines === 'refuse' || read === 0)) throw refusal(outcome, seen)
      const counts = { read, created, merged, skipped, bad_lines: faults.count, bad_details: left.count }
      return ok({ ...counts, lines: linesOf(outcome), ...seen })
    }),

    routeWithoutTransaction(c.previewContactImport, async ({ body, request }) => {
      if (body === undefined) throw refusals.bodyNotContacts()
      const beginning = await beginningOf(body)
      const preview = isCsv(request) ? previewCsv : previewCards
      return ok(await preview(readText([beginning], charsetOf(request))))
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
