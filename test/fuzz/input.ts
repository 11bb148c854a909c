import fc from 'fast-check'
import type { Contract } from '../../src/platform/http/endpoint.ts'
import { shortWav } from '../recipes/scene.ts'
import { fields, type Node, nodeOf } from '../recipes/schema.ts'
import { hostileText, isIdPlaceholder, nearlyValid, valid } from './values.ts'

/** A request with placeholders instead of ids. */
export type Input = {
  /** Path parameters, not escaped yet. */
  params: [string, unknown][]
  /** Query parameters in order; a name may occur twice. */
  query: [string, unknown][]
  body: unknown
  /** Raw text sent instead of the body: not JSON, or nearly JSON. */
  raw: string | null
  headers: Record<string, string>
}

const mostly = (node: Node): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 5, arbitrary: valid(node) }, { weight: 3, arbitrary: nearlyValid(node) })

type Make = (node: Node) => fc.Arbitrary<unknown>

/** The number of occurrences of each parameter in a request. */
const once = fc.constant(1)
const perhaps = fc.constantFrom(0, 1)
const anyhow = fc.constantFrom(0, 1, 1, 1, 1, 1, 2)

const pairs = (
  schema: Contract['params'],
  make: Make,
  times: (name: string) => fc.Arbitrary<number>,
): fc.Arbitrary<[string, unknown][]> => {
  const given = fields(schema).map(([name, node]) =>
    fc
      .tuple(fc.constant(name), make(node), times(name))
      .map(([name, value, times]): [string, unknown][] => Array.from({ length: times }, () => [name, value])),
  )
  return fc.tuple(...given).map((all) => all.flat())
}

const rawBodies = [
  '',
  ' ',
  '{',
  '{"a":',
  '[]',
  'null',
  '0',
  '"text"',
  '{"__proto__":{"x":1}}',
  '{"constructor":{"prototype":{"x":1}}}',
  '{"a":1,"a":2}',
  '\ufeff{}',
  '{"a":1e999}',
  "{'a':1}",
  '{"a":NaN}',
  '{}x',
  '{"a":"\u0001"}',
  '{"text":"\\ud800"}',
  '{"text":"\\u0000"}',
  `${'['.repeat(10_000)}${']'.repeat(10_000)}`,
  `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`,
  `{"padding":"${'x'.repeat(300_000)}"}`,
  'kind,prefix,price\n"',
  'kind\0,prefix\n',
  'kind,prefix,price,effective_at\nsms_out,44,0.04,9999999\n',
  'kind,prefix,price,effective_at\nsms_out,44,0.04,-000001-01-01\nsms_out,44,0.04,\n',
  'kind,kind\nsms_out,sms_out\n',
]

const headers: fc.Arbitrary<Record<string, string>> = fc.oneof(
  { weight: 8, arbitrary: fc.constant({}) },
  {
    weight: 2,
    arbitrary: fc.constantFrom<Record<string, string>>(
      { 'idempotency-key': 'k' },
      { 'idempotency-key': 'x'.repeat(256) },
      { 'idempotency-key': '\u00e9\u00ff' },
      { 'content-type': 'application/json; charset=utf-16' },
      { 'content-type': 'text/csv' },
      { 'content-type': 'text/plain' },
      { 'content-type': ';' },
      { accept: 'text/html' },
      { 'content-encoding': 'gzip' },
      { expect: '200-ok' },
      { 'x-forwarded-for': '1.2.3.4, \u00ff', 'x-forwarded-proto': 'https' },
    ),
  },
)

/** Files with the header line of the example, and rows that resemble its own or not. */
const csvOf = (example: string): fc.Arbitrary<string> => {
  const [head = '', ...lines] = example.trim().split('\n')
  const line = fc.constantFrom(...lines, ...lines, 'call_in,,1', 'sms_out,5,0.1', 'x,y,z', '"', ',,,,')
  return fc.oneof(
    fc.constant(example),
    fc.array(line, { maxLength: 5 }).map((some) => [head, ...some].join('\n')),
    hostileText,
  )
}

/** Bytes that begin like a document, and bytes that do not. */
const file = fc.oneof(
  { weight: 3, arbitrary: hostileText.map((text) => `%PDF-1.7 ${text}`) },
  { weight: 1, arbitrary: hostileText },
)

/** Sounds, with other bytes behind them or without, and bytes that are none. */
const sound = fc.oneof(
  { weight: 3, arbitrary: hostileText.map((text) => shortWav + text) },
  { weight: 1, arbitrary: hostileText.map((text) => shortWav.slice(0, 40) + text) },
  { weight: 1, arbitrary: hostileText },
)

const fileOf = (media: string, example: unknown): fc.Arbitrary<string> => {
  if (media === 'text/csv') return csvOf(String(example))
  return media === 'audio/wav' ? sound : file
}

const bodyOf = ({ body }: Contract, make: Make): fc.Arbitrary<unknown> => {
  if (body === undefined) return fc.constant(undefined)
  const { contentMediaType: media, examples } = nodeOf(body)
  return media === undefined ? make(nodeOf(body)) : fileOf(media, examples?.[0])
}

/** Requests to an endpoint that its schema allows. */
export const validInputs = (contract: Contract): fc.Arbitrary<Input> => {
  const required = nodeOf(contract.query).required ?? []
  return fc.record({
    params: pairs(contract.params, valid, () => once),
    query: pairs(contract.query, valid, (name) => (required.includes(name) ? once : perhaps)),
    body: bodyOf(contract, valid),
    raw: fc.constant(null),
    headers: fc.constant({}),
  })
}

/** Requests to an endpoint: valid, nearly valid and hostile. */
export const inputs = (contract: Contract): fc.Arbitrary<Input> => {
  const foul: fc.Arbitrary<Input> = fc.record({
    params: pairs(contract.params, mostly, () => once),
    query: pairs(contract.query, mostly, () => anyhow),
    body: bodyOf(contract, mostly),
    raw:
      contract.method === 'GET'
        ? fc.constant(null)
        : fc.oneof(
            { weight: 9, arbitrary: fc.constant(null) },
            { weight: 1, arbitrary: fc.constantFrom(...rawBodies) },
          ),
    headers,
  })
  return fc.oneof({ weight: 2, arbitrary: validInputs(contract) }, { weight: 3, arbitrary: foul })
}

/** Ids by kind: recently seen in answers, and one that certainly exists. */
export type Pool = {
  take(kind: string, nth: number): string
  learn(text: string): void
  pin(kind: string, id: string): void
}

const shown =
  /\b(?:ACC|USR|DID|SMS|SMI|SMO|VCI|CDR|KEY|CNX|TRF|DOC|IMP|CON|WPN|WAG|MSG|CNV|NTE|TAG|RPL|VIW|JOB|MED|CLP)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g
const bare = /"(?:uuid|next_cursor|id)":"([^"]{1,120})"/g
const numbers = /\+441632\d{6}/g

/** @param closed ids that are never used, so that the run does not remove what it depends on */
export const makePool = (closed: ReadonlySet<string>): Pool => {
  const kept = new Map<string, string[]>()
  const pinned = new Map<string, string>()
  const add = (kind: string, id: string) => {
    if (closed.has(id)) return
    const list = kept.get(kind) ?? []
    kept.set(kind, list)
    const at = list.indexOf(id)
    if (at >= 0) list.splice(at, 1)
    list.push(id)
    if (list.length > 12) list.shift()
  }
  return {
    take: (asked, nth) => {
      const kind = asked === 'SMI' ? 'SMO' : asked
      const sure = pinned.get(kind)
      if (sure !== undefined && nth % 2 === 0) return sure
      const list = kept.get(kind) ?? []
      return list[nth % Math.max(1, list.length)] ?? `${kind}00000000-0000-0000-0000-000000000000`
    },
    pin: (kind, id) => pinned.set(kind, id),
    learn: (text) => {
      const part = text.slice(0, 20_000)
      for (const [id] of part.matchAll(shown)) add(id.slice(0, 3), id)
      for (const [, id = ''] of part.matchAll(bare)) add('any', id)
      for (const [number] of part.matchAll(numbers)) add('number', number)
    },
  }
}

/** Replaces the placeholders in a value with ids of the pool. */
export const fillIds = (value: unknown, pool: Pool): unknown => {
  if (isIdPlaceholder(value)) return pool.take(value.chained, value.nth)
  if (Array.isArray(value)) return value.map((item) => fillIds(item, pool))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, fillIds(inner, pool)]))
}

/** The kinds of ids whose placeholders are in a value. */
export const kindsIn = (value: unknown, kinds = new Set<string>()): ReadonlySet<string> => {
  if (isIdPlaceholder(value)) kinds.add(value.chained)
  else if (value !== null && typeof value === 'object') for (const inner of Object.values(value)) kindsIn(inner, kinds)
  return kinds
}
