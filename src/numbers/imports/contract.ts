import { Type } from 'typebox'
import { contract } from '../../http/endpoint.ts'
import { Enum, Id, Ok, Time } from '../../http/schema.ts'

const operator = { auth: 'operator', shape: 'full', tag: 'Operator: numbers' } as const

const BadLines = Type.Array(
  Type.Object({ line: Type.Integer({ minimum: 1 }), error: Type.String({ examples: ['+44 is no number of GB'] }) }),
  { description: 'The first 1,000 of the bad lines, in their order' },
)

const Import = Type.Object({
  uuid: Id('IMP'),
  state: Enum(['reading', 'importing', 'done', 'refused', 'failed'], {
    description: 'refused: lines are bad, and nothing was imported; failed: it broke off, and nothing was imported',
  }),
  dry_run: Type.Boolean(),
  lines: Type.Integer({ description: 'Lines read so far' }),
  bad_lines: Type.Integer(),
  imported: Type.Integer({ description: 'Numbers taken so far; they can be had once the state is done' }),
  groups: Type.Integer({ description: 'Groups that the numbers are in' }),
  created_at: Time,
  finished_at: Type.Optional(Time),
})

export const importInventory = contract({
  ...operator,
  id: 'importInventory',
  method: 'POST',
  url: '/operator/inventory/import',
  summary:
    'Import numbers of your own from CSV, of any length: number, country, type; if you like region, city, group, ' +
    'features, setup_price, monthly_price, price_per_minute. One bad line, and nothing is imported',
  stream: true,
  query: Type.Object({
    dry_run: Type.Optional(Type.Boolean({ description: 'Look at every line, and import nothing' })),
  }),
  body: Type.Unsafe<string>({
    type: 'string',
    contentMediaType: 'text/csv',
    examples: ['number,country,type,monthly_price\n+442079460958,GB,local,1.50\n'],
  }),
  status: 201,
  reply: Ok({
    import_uuid: Id('IMP'),
    lines: Type.Integer({ description: 'Lines below the head' }),
    imported: Type.Integer({ description: 'Numbers that came into the inventory' }),
    groups: Type.Integer({ description: 'Groups that the numbers are in' }),
  }),
  errors: { invalid: 'Lines are bad, and nothing was imported; every one of the first 1,000 is told' },
  faults: Type.Object({
    import_uuid: Type.Optional(Id('IMP')),
    bad_lines: Type.Optional(Type.Integer({ description: 'How many there are in all' })),
    lines: Type.Optional(BadLines),
  }),
  cli: 'inventory import',
})

export const listImports = contract({
  ...operator,
  id: 'listImports',
  method: 'GET',
  url: '/operator/inventory/imports',
  summary: 'The last 50 imports of numbers, newest first, and how far they have come',
  status: 200,
  reply: Ok({ imports: Type.Array(Import) }),
  errors: {},
  cli: 'inventory imports',
})

export const getImport = contract({
  ...operator,
  id: 'getImport',
  method: 'GET',
  url: '/operator/inventory/imports/:import_uuid',
  summary: 'How far an import of numbers has come, and which lines were bad',
  params: Type.Object({ import_uuid: Id('IMP') }),
  status: 200,
  reply: Ok({ import: Import, lines: BadLines }),
  errors: { notFound: 'No such import' },
  cli: 'inventory progress',
})
