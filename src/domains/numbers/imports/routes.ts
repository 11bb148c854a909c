import { ok, route, routeWithoutTransaction } from '../../../platform/http/endpoint.ts'
import { type Problem, refuse } from '../../../platform/http/problem.ts'
import { refusals as httpRefusals } from '../../../platform/http/refusals.ts'
import { charsetOf } from '../../../platform/http/upload.ts'
import { iso } from '../../../platform/lib/clock.ts'
import { parse, print } from '../../../platform/lib/id.ts'
import { readText } from '../../../platform/lib/text-encoding.ts'
import type { Services } from '../../../services.ts'
import { maxNamedFaults } from '../limits.ts'
import { refusals } from '../refusals.ts'
import * as c from './contract.ts'
import { type ImportResult, importNumbers } from './import-numbers.ts'
import * as store from './store.ts'

const refusal = ({ id, lines, faults }: ImportResult): Problem => {
  const first = faults.listed.slice(0, maxNamedFaults).map(({ line, error }) => `line ${line}: ${error}`)
  const rest = faults.count > maxNamedFaults ? `; and ${faults.count - maxNamedFaults} more` : ''
  const what = `${faults.count} bad of ${lines} ${lines === 1 ? 'line' : 'lines'}`
  const body = { import_uuid: print('IMP', id), bad_lines: faults.count, lines: faults.listed }
  return httpRefusals.fileRejected(`${what}; ${first.join('; ')}${rest}`, 'invalid_csv', body)
}

const presentImport = (row: store.ImportRow) => ({
  uuid: print('IMP', row.id),
  state: row.is_over && row.finished_at === null ? ('failed' as const) : row.state,
  dry_run: row.dry_run,
  lines: row.lines,
  bad_lines: row.bad_lines,
  imported: row.imported,
  groups: row.groups,
  created_at: iso(row.created_at),
  ...(row.finished_at ? { finished_at: iso(row.finished_at) } : {}),
})

export const importRoutes = ({ db }: Services) => [
  routeWithoutTransaction(c.importInventory, async ({ body, query, request, audit }) => {
    if (body === undefined) throw refusals.bodyNotCsv()
    const isDry = query.dry_run ?? false
    const outcome = await importNumbers(db, readText(body, charsetOf(request)), isDry, (tx, { id, imported, groups }) =>
      audit(tx, { target: print('IMP', id), after: { imported, groups } }),
    )
    if (isDry) await audit(null, { target: print('IMP', outcome.id), after: { dry_run: true } })
    if (outcome.faults.count > 0) throw refusal(outcome)
    const { id, lines, imported, groups } = outcome
    return ok({ import_uuid: print('IMP', id), lines, imported, groups })
  }),

  route(c.listImports, async () => ok({ imports: (await store.latestImports(db)).map(presentImport) })),

  route(c.getImport, async ({ params }) => {
    const id = parse('IMP', params.import_uuid) ?? refuse(refusals.unknownImport(params.import_uuid))
    const row = (await store.find(db, id)) ?? refuse(refusals.unknownImport(params.import_uuid))
    return ok({ import: presentImport(row), lines: row.faults })
  }),
]
