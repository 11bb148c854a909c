import { Type } from 'typebox'
import { contract } from '../../../platform/http/endpoint.ts'
import { Enum, Id, Named, Ok, Time } from '../../../platform/http/schema.ts'

const operator = { auth: 'operator', shape: 'full', tag: 'Operator: numbers' } as const

const BadLines = Type.Array(
  Named(
    'InventoryImportError',
    Type.Object({
      line: Type.Integer({ minimum: 1 }),
      error: Type.String({ examples: ['+44 is not a number of GB'] }),
    }),
  ),
  { description: 'The first 1,000 of the bad lines, in their order' },
)

const Import = Named(
  'InventoryImport',
  Type.Object({
    uuid: Id('IMP'),
    state: Enum(['reading', 'importing', 'done', 'refused', 'failed'], {
      description:
        'refused: lines are bad, nothing was imported; failed: the import was interrupted, nothing was imported',
    }),
    dry_run: Type.Boolean(),
    lines: Type.Integer({ description: 'Lines read so far' }),
    bad_lines: Type.Integer(),
    imported: Type.Integer({ description: 'Numbers imported so far; they are available once the state is done' }),
    groups: Type.Integer({ description: 'Groups that the numbers are in' }),
    created_at: Time,
    finished_at: Type.Optional(Time),
  }),
)

export const importInventory = contract({
  ...operator,
  id: 'importInventory',
  client: 'inventory.import',
  method: 'POST',
  url: '/operator/inventory/import',
  summary:
    'Import numbers of your own from CSV, of any length. Columns: number, country, type; optional: region, city, group, ' +
    'features, setup_price, monthly_price, price_per_minute. If any line is bad, nothing is imported',
  description:
    'Use dry_run to check a file without importing it. One import runs at a time; progress is shown by getImport.',
  stream: true,
  query: Type.Object({
    dry_run: Type.Optional(Type.Boolean({ description: 'Validate every line, import nothing' })),
  }),
  body: Type.Unsafe<string>({
    type: 'string',
    contentMediaType: 'text/csv',
    examples: ['number,country,type,monthly_price\n+442079460958,GB,local,1.50\n'],
  }),
  status: 201,
  reply: Ok({
    import_uuid: Id('IMP'),
    lines: Type.Integer({ description: 'Lines after the header' }),
    imported: Type.Integer({ description: 'Numbers added to the inventory' }),
    groups: Type.Integer({ description: 'Groups that the numbers are in' }),
  }),
  codes: { invalid: ['invalid_csv'] },
  errors: { invalid: 'Lines are bad, nothing was imported; the first 1,000 bad lines are listed' },
  faults: Type.Object({
    import_uuid: Type.Optional(Id('IMP')),
    bad_lines: Type.Optional(Type.Integer({ description: 'Total number of bad lines' })),
    lines: Type.Optional(BadLines),
  }),
  cli: 'inventory import',
})

export const listImports = contract({
  ...operator,
  id: 'listImports',
  client: 'inventory.imports',
  method: 'GET',
  url: '/operator/inventory/imports',
  summary: 'The last 50 imports of numbers, newest first, with their progress',
  description: 'The list includes dry runs and failed imports.',
  status: 200,
  reply: Ok({ imports: Type.Array(Import) }),
  errors: {},
  cli: 'inventory imports',
})

export const getImport = contract({
  ...operator,
  id: 'getImport',
  client: 'inventory.getImport',
  method: 'GET',
  url: '/operator/inventory/imports/:import_uuid',
  summary: 'Progress of an import of numbers, and its bad lines',
  description: 'An import runs in the background. Repeat this request until the state is final.',
  params: Type.Object({ import_uuid: Id('IMP') }),
  status: 200,
  reply: Ok({ import: Import, lines: BadLines }),
  errors: { notFound: 'No such import' },
  cli: 'inventory progress',
})
