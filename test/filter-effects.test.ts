import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contracts } from '../src/contracts.ts'
import type { Contract } from '../src/platform/http/endpoint.ts'
import { uuid } from '../src/platform/lib/id.ts'
import { testDatabase } from './database.ts'
import { fillLists } from './list-rows.ts'
import { recipes } from './recipes/all.ts'
import type { Request } from './recipes/recipe.ts'
import { group, makeRecipeWorld, makeScene } from './recipes/scene.ts'
import { type Node, nodeOf, prefixOf } from './recipes/schema.ts'
import { send } from './recipes/send.ts'

// A filter applies beside every other one: a value that nothing has leaves no row, or is refused.

const db = await testDatabase()
const scene = await makeScene(await makeRecipeWorld({ db }), 'effects')
const { world, tenant } = scene
const [sms, chat, webhook] = [await scene.number(), await scene.chat(), await scene.webhook()]
await fillLists(
  db,
  {
    account: tenant.id,
    smsChannel: sms.channel.slice(3),
    chatChannel: chat.slice(3),
    webhook: webhook.slice(3),
    group: group.id,
  },
  { from: 0, to: 30, withInstallation: true },
)
// Half of the calls are inbound, and so are half of the messages.
await db.run`
  update calls set direction = 'I', from_number = to_number, to_number = '+441632960000'
  where account_id = ${tenant.id} and right(callid, 1) in ('0', '2', '4', '6', '8')`
await db.run`
  update sms_messages set direction = 'inbound', status = 'received', price = 0
  where account_id = ${tenant.id} and right(id::text, 1) in ('0', '2', '4', '6', '8')`

/** Parameters that choose the form of an answer, not its rows. */
const forms = new Set([
  ...[
    'page',
    'page_number',
    'per_page',
    'results_per_page',
    'cursor',
    'sort',
    'format',
    'step',
    'by',
    'kinds',
    'views',
  ],
  ...['in', 'extra-information', 'around', 'role', 'before_ts'],
])

/** The values of a filter that chooses among some. Those of a boolean may choose all. */
const choicesOf = ({ enum: all }: Node): readonly unknown[] => all ?? []

/** A value that nothing has; undefined where there is none. */
const nothing = (name: string, node: Node): string | number | undefined => {
  if (forms.has(name) || node.enum || node.type === 'boolean') return undefined
  if (name === 'since' || name === 'after') return name === 'since' ? '2100-01-01T00:00:00Z' : undefined
  if (name === 'until') return '1970-01-01T00:00:00Z'
  if (node.type === 'integer') return Number(node.maximum ?? 2_000_000_000)
  const prefix = prefixOf(node)
  if (prefix !== null) return prefix + uuid()
  if (node.format === 'phone' || /number$/.test(name)) return '+447911888000'
  if (name === 'prefix') return '999999999999999'
  return node.pattern === '^[A-Za-z]{2}$' ? 'AQ' : 'zqxnothing'
}

/** Filters that keep rows of every value: an opt-out of all numbers holds for each of them. */
const wider = new Set(['listOptOuts phone_number'])

/** The rows of an answer, in whatever list they are. Cities nearby are of a search without any. */
const rowsOf = (body: unknown): number =>
  Object.entries(Object(body))
    .filter(([name]) => name !== 'nearby')
    .reduce((sum, [, one]) => sum + (Array.isArray(one) ? one.length : typeof one === 'object' ? rowsOf(one) : 0), 0)

/** Questions that are no lists. */
const single = new Set(['checkNumber', 'exportContacts', 'getDraft', 'readiness'])

const lists = contracts.filter(({ id, method, query }) => method === 'GET' && query && !single.has(id))

const ask = async (contract: Contract, request: Request, query: Record<string, unknown>) => {
  // The query of a recipe may have filters of its own; it has what is required too.
  const required = nodeOf(contract.query).required ?? []
  const own = Object.fromEntries(Object.entries(request.query ?? {}).filter(([name]) => required.includes(name)))
  const { status, body, text } = await send(world, contract, tenant, {
    ...request,
    query: { ...own, ...query } as never,
  })
  assert.ok(status < 500, text)
  return status < 400 ? rowsOf(body) : 0
}

let tried = 0
for (const contract of lists)
  test(`${contract.id} ignores no filter beside another`, async () => {
    const request = (await recipes[contract.id]?.ok(scene)) ?? assert.fail(`${contract.id} has no recipe`)
    const fields = Object.entries(nodeOf(contract.query).properties ?? {}).filter(([name]) => !forms.has(name))
    const without = fields.flatMap(([name, node]) => {
      const value = wider.has(`${contract.id} ${name}`) ? undefined : nothing(name, node)
      return value === undefined ? [] : [{ name, value }]
    })
    const choices = fields.flatMap(([name, node]) => choicesOf(node).map((value) => ({ [name]: value })))
    const faults: string[] = []
    for (const choice of [{}, ...choices]) {
      if ((await ask(contract, request, choice)) === 0) continue
      for (const { name, value } of without) {
        if (name in choice) continue
        tried++
        const rows = await ask(contract, request, { ...choice, [name]: value })
        if (rows > 0) faults.push(`${JSON.stringify(choice)} with ${name}=${value}: ${rows} rows`)
      }
    }
    assert.deepEqual(faults, [])
  })

test('the walk tries filters of lists that have rows', () => {
  assert.ok(tried >= 100, `tried only ${tried} pairs`)
})
