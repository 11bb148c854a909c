import fc from 'fast-check'
import { type Node, prefixOf } from '../recipes/schema.ts'

/** A placeholder for an id that is known when the request is made: the nth id seen in answers so far. */
export type IdPlaceholder = { readonly chained: string; readonly nth: number }

export const isIdPlaceholder = (value: unknown): value is IdPlaceholder =>
  value !== null && typeof value === 'object' && 'chained' in value && 'nth' in value

const chained = (kind: string): fc.Arbitrary<unknown> =>
  fc.nat(1000).map((nth): IdPlaceholder => ({ chained: kind, nth }))

const deep = (levels: number): unknown => {
  let value: unknown = 'end'
  for (let i = 0; i < levels; i++) value = i % 2 ? [value] : { a: value }
  return value
}

/** Values that have broken programs before. */
const hostileTexts = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\ud800',
  'x\udc00y',
  '\udfff\ud800',
  '\ufeff',
  '\u202e\u0000',
  'é',
  'e\u0301',
  '٠١٢٣',
  '👩‍👩‍👧‍👦',
  '𝟘𝟙',
  '\u2028',
  '\r\nx-injected: 1',
  "' or 1=1 --",
  '$1::text',
  '\\',
  '%00',
  '%',
  '../../../etc/passwd',
  '__proto__',
  'constructor',
  'toString',
  'null',
  'NaN',
  '-1',
  '1e309',
  '9007199254740993',
  '9223372036854775808',
  '0x10',
  ' 1',
  'true',
  '+',
  '+0000000',
  '+999999999999999',
  '+4477009001234567890',
  '2026-13-45T99:99:99Z',
  '9999999-01-01T00:00:00Z',
  '-271821-04-20T00:00:00Z',
  '2026-02-30',
  '0000-01-01T00:00:00Z',
  '275760-09-13T00:00:00.001Z',
  'USR',
  'ACC00000000-0000-0000-0000-000000000000',
  'SMIffffffff-ffff-ffff-ffff-ffffffffffff',
  'x'.repeat(64),
  'x'.repeat(65),
  'é'.repeat(501),
  '💣'.repeat(1601),
  'x'.repeat(10_000),
] as const

const hostileValues: unknown[] = [
  null,
  true,
  false,
  0,
  -0,
  -1,
  0.1,
  1e-7,
  1e21,
  1e308,
  2 ** 31,
  2 ** 53,
  2 ** 53 + 2,
  2 ** 63,
  2 ** 64,
  -(2 ** 63),
  [],
  {},
  [[]],
  [null],
  { length: 3 },
  deep(50),
  deep(300),
]

export const hostile: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom<unknown>(...hostileTexts) },
  { weight: 2, arbitrary: fc.constantFrom(...hostileValues) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
)

export const hostileText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...hostileTexts),
  fc.string({ unit: 'binary', maxLength: 40 }),
)

const text = (node: Node): fc.Arbitrary<unknown> => {
  const prefix = prefixOf(node)
  if (prefix)
    return fc.oneof(
      chained(prefix),
      fc.uuid().map((id) => prefix + id),
    )
  if (node.format === 'phone')
    return fc.oneof(chained('number'), fc.constantFrom('+447700900123', '447700900456', '+12025550123', '+33612345678'))
  if (node.format === 'email') return fc.nat(1_000_000).map((n) => `fuzz.${n}@example.com`)
  if (node.format === 'date-time')
    return fc.date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true }).map((date) => date.toISOString())
  if (node.pattern === '^WW-WPN') return chained('session')
  if (node.pattern && node.pattern !== '\\S') {
    const matching = fc.stringMatching(new RegExp(node.pattern))
    return node.examples ? fc.oneof(matching, fc.constantFrom(...node.examples)) : matching
  }
  if (node.examples)
    return fc.oneof(fc.constantFrom(...node.examples), fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 }))
  const longest = Math.min(node.maxLength ?? 200, 200)
  return fc.oneof(chained('any'), fc.string({ unit: 'grapheme', minLength: node.minLength ?? 0, maxLength: longest }))
}

/** Values that a schema allows, mostly at its limits. */
export const valid = (node: Node): fc.Arbitrary<unknown> => {
  if ('const' in node) return fc.constant(node.const)
  if (node.enum) return fc.constantFrom(...node.enum)
  if (node.anyOf) return fc.oneof(...node.anyOf.map(valid))
  if (Array.isArray(node.type)) return fc.oneof(...node.type.map((type) => valid({ ...node, type })))
  const [low, high] = [node.minimum ?? -5, node.maximum ?? 2 ** 40]
  switch (node.type) {
    case 'object':
      return record(node, valid)
    case 'array':
      return fc.array(valid(node.items ?? {}), { minLength: node.minItems ?? 0, maxLength: 4 })
    case 'integer':
      return fc.oneof(fc.integer({ min: low, max: Math.min(high, low + 100) }), fc.constantFrom(low, high))
    case 'number':
      return fc.double({ min: node.exclusiveMinimum ?? low, max: high, noNaN: true, minExcluded: true })
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    case 'string':
      return text(node)
    default:
      return fc.jsonValue({ maxDepth: 2 })
  }
}

/** Values close to those a schema allows: beyond a limit, of another type, or with something hostile deep inside. */
export const nearlyValid = (node: Node): fc.Arbitrary<unknown> => {
  const over: fc.Arbitrary<unknown>[] = [hostile, valid(node)]
  if (node.type === 'integer')
    over.push(fc.constantFrom<unknown>((node.minimum ?? 0) - 1, (node.maximum ?? 2 ** 53) + 1, 1.5, '1'))
  if (node.type === 'string' && node.maxLength !== undefined)
    over.push(fc.constantFrom('x'.repeat(node.maxLength), 'x'.repeat(node.maxLength + 1), '𝕏'.repeat(node.maxLength)))
  if (node.type === 'object') over.push(record(node, nearlyValid), record(node, nearlyValid))
  if (node.type === 'array') over.push(fc.array(nearlyValid(node.items ?? {}), { maxLength: 3 }))
  const prefix = prefixOf(node)
  if (prefix)
    over.push(
      hostileText.map((rest) => prefix + rest),
      fc.uuid().map((id) => `XXX${id}`),
    )
  return fc.oneof(...over)
}

/** An object with the fields of a schema, some omitted, and sometimes unknown others. */
const record = (node: Node, make: (node: Node) => fc.Arbitrary<unknown>): fc.Arbitrary<unknown> => {
  const fields = Object.fromEntries(Object.entries(node.properties ?? {}).map(([name, inner]) => [name, make(inner)]))
  const whole = fc.record(fields, make === valid ? { requiredKeys: node.required ?? [] } : { requiredKeys: [] })
  const known = fc.record(fields, { requiredKeys: Object.keys(fields) })
  // With many optional fields, most combinations are refused: clients send a few.
  const { required = [] } = node
  const optional = Object.keys(fields).filter((name) => !required.includes(name))
  const few = fc
    .tuple(known, fc.subarray(optional, { maxLength: Math.min(2, optional.length) }))
    .map(([all, some]) =>
      Object.fromEntries(Object.entries(all).filter(([name]) => required.includes(name) || some.includes(name))),
    )
  const odd = fc.dictionary(fc.string({ minLength: 1, maxLength: 8 }), hostile, { maxKeys: 2 })
  return fc.oneof(
    { weight: 4, arbitrary: whole },
    { weight: make === valid ? 4 : 0, arbitrary: few },
    { weight: make === valid ? 0 : 4, arbitrary: known },
    { weight: 1, arbitrary: fc.tuple(whole, odd).map(([base, more]) => ({ ...more, ...Object(base) })) },
  )
}
