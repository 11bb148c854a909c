import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { contracts } from '../src/contracts.ts'
import type { Contract } from '../src/http/endpoint.ts'
import { fairInputs, filled, type Input, inputs, makePool, type Pool } from './fuzz/input.ts'
import { fault, type Sent } from './fuzz/oracle.ts'
import { recipes } from './recipes/all.ts'
import { chatThings } from './recipes/chat.ts'
import { group, makeScene, makeScenery, type Scene } from './recipes/scene.ts'
import { nodeOf } from './recipes/schema.ts'
import { type Change, send, sendTo } from './recipes/send.ts'

// Every endpoint is asked with what its schema allows, nearly allows, and with what has broken programs before; ids come
// from the answers so far. No answer may be a 5xx, break its schema, take over 2 s, or accept what the schema forbids.
//
//   TRUNKLINE_FUZZ_SEED    another seed than 1; the long form takes a new one each time
//   TRUNKLINE_FUZZ_INPUTS  how many requests the long form makes (npm run fuzz)

const long = process.env.TRUNKLINE_TEST_LONG === '1'
const total = long ? Number(process.env.TRUNKLINE_FUZZ_INPUTS ?? 500_000) : 8_000
/** Requests in one world: lists of everything must not grow so long that nothing else is tried. */
const perWorld = 8_000
// What every change has to pass is the same for all of them; the long form looks for what nobody has seen.
const firstSeed = Number(process.env.TRUNKLINE_FUZZ_SEED ?? (long ? randomInt(2 ** 31) : 1))

const asText = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))

/** An escape that holds for any text; half of a surrogate pair becomes the bytes that no decoder takes. */
const escaped = (text: string): string =>
  text.isWellFormed() ? encodeURIComponent(text) : `%ED%A0%80${encodeURIComponent(text.toWellFormed())}`

const answers = new Map<string, { fulfilled: number; refused: number; last: string }>()
let slowestMs = 0
const isFulfilled = ({ id }: Contract) => (answers.get(id)?.fulfilled ?? 0) > 0

type Prepared = { url: string; sent: Sent; change: Change }

const prepared = (contract: Contract, input: Input, pool: Pool): Prepared => {
  const params = Object.fromEntries(input.params.map(([name, value]) => [name, asText(filled(value, pool))]))
  const query = input.query.map(([name, value]): [string, string] => [name, asText(filled(value, pool))])
  const body = filled(input.body, pool)
  const path = contract.url.replace(/:(\w+)/g, (_, name: string) => escaped(params[name] ?? ''))
  const search = query.map(([name, text]) => `${escaped(name)}=${escaped(text)}`).join('&')
  const media = nodeOf(contract.body).contentMediaType
  const plain = media && typeof body === 'string' ? body : JSON.stringify(body)
  const payload = input.raw ?? plain
  return {
    url: search === '' ? path : `${path}?${search}`,
    sent: { params, query, body: input.raw === null ? body : undefined, isRaw: input.raw !== null },
    change: {
      ...(payload === undefined ? {} : { payload }),
      headers: { ...(payload === undefined ? {} : { 'content-type': media ?? 'application/json' }), ...input.headers },
    },
  }
}

const ask = async (scene: Scene, pool: Pool, contract: Contract, input: Input) => {
  const { url, sent, change } = prepared(contract, input, pool)
  if (contract.auth === 'voice') change.key = (await recipes[contract.id]?.ok(scene))?.bearer ?? null
  const began = performance.now()
  const answer = await sendTo(scene.world, contract, scene.tenant, url, change)
  const took = performance.now() - began
  if (!contract.waits) slowestMs = Math.max(slowestMs, took)
  if (answer.status < 300) pool.learn(answer.text)
  const seen = answers.get(contract.id) ?? { fulfilled: 0, refused: 0, last: '' }
  seen[answer.status < 300 ? 'fulfilled' : 'refused']++
  if (answer.status >= 300) seen.last = `${url} ${answer.status} ${answer.text}`
  answers.set(contract.id, seen)
  const wrong = fault(contract, sent, answer, took)
  if (wrong === null) return
  const { payload, headers } = change
  throw new Error(`${wrong}\n${contract.method} ${url}\n${JSON.stringify(headers)}\n${String(payload).slice(0, 2000)}`)
}

/** A tenant that may ask as often as it likes, and another one to play with. */
const open = async () => {
  const world = await makeScenery()
  const rich = await world.tenant({ balance: '1000000', requestsPerMinute: 100_000_000 })
  const pool = makePool(new Set([rich.uuid]))
  return { scene: await makeScene(world, 'fuzz', rich), toy: await makeScene(world, 'toy'), pool }
}

/** A scheduled text can be read, and taken back. */
const tomorrow = new Date(Date.now() + 86_400_000).toISOString()

/** Sees to it that there is one of everything, whatever became of the last ones. */
const replenish = async ({ scene, toy, pool }: Awaited<ReturnType<typeof open>>) => {
  // Prices are among what is fuzzed.
  await scene.world.call('operator', 'POST', `/operator/accounts/${scene.tenant.uuid}/credit`, { amount: '10000000' })
  // And so is what is on sale.
  await scene.world.call('operator', 'POST', '/operator/inventory/restore', { group_id: group.id })
  const [{ uuid, channel, from }, { number, document }] = [
    await scene.message({ send_at: tomorrow }),
    await scene.registration(),
  ]
  const things: [string, string][] = [
    ['ACC', toy.tenant.uuid],
    ['USR', await scene.user()],
    ['KEY', await toy.key()],
    ['CNX', await toy.connection()],
    ['SMO', uuid],
    ['SMS', channel],
    ['number', from],
    ['DID', number],
    ['DOC', await scene.document()],
    ['CON', await scene.contact()],
    ['WHK', await scene.webhook()],
    ['WHD', await scene.delivery()],
    ['IMP', await scene.imported()],
    ['CDR', (await recipes.getCall?.ok(scene))?.params?.call_uuid ?? ''],
    ['ASD', (await recipes.retrySetAside?.ok(scene))?.params?.uuid ?? ''],
    ['VCI', (await recipes.deleteCallerId?.ok(scene))?.params?.caller_id_uuid ?? ''],
  ]
  for (const [kind, id] of [...things, ...(await chatThings(scene, from))]) pool.pin(kind, id)
  const rare = [await scene.suspended(), document]
  // The last, since whoever buys from the group takes what is reserved in it.
  pool.pin('any', (await scene.reservation()).uuid)
  return rare
}

/** They want things that belong together, such as a message and the handset that wrote it, that last a moment, or a name. The fuzzer
 *  meets their refusals; that they are fulfilled as well, after all that, is seen by their recipes. */
const together = new Set([
  'getCallTimelineOfAccount',
  'hangUpCall',
  'getMsgappChannelQrCode',
  'editFromHandset',
  'reactFromHandset',
  'leaveFromHandset',
  'pairChannel',
  'hangUpFromHandset',
  'verifyCallerId',
  'checkNumber',
  'addParticipant',
  'removeParticipant',
  'promoteParticipant',
  'demoteParticipant',
  'setGroupDescription',
  'checkTrunk',
  // Refused once an account is no sandbox account any more.
  'moveClock',
])

const hasInput = ({ params, query, body }: Contract) => params || query || body
const runs = Math.ceil(perWorld / contracts.filter(hasInput).length)

for (let round = 0; round * perWorld < total; round++) {
  const seed = (firstSeed + round) | 0
  test(`no endpoint breaks, whatever it is asked (TRUNKLINE_FUZZ_SEED=${seed})`, async (t) => {
    const stage = await open()
    const { scene, pool } = stage
    // Whoever only reads leaves everything as it was: to make one of everything is most of what this costs.
    let isTouched = true
    let rare: readonly string[] = []
    for (const contract of contracts)
      await t.test(contract.id, async () => {
        if (isTouched) rare = await replenish(stage)
        // The answers of an endpoint that lists fill the pool: they put the only number that is suspended out of it.
        for (const id of rare) pool.learn(id)
        isTouched = contract.method !== 'GET'
        const property = fc.asyncProperty(inputs(contract), (input) => ask(scene, pool, contract, input))
        // Without inputs of its own there are only headers and bodies to play with.
        await fc.assert(property, { seed, numRuns: hasInput(contract) ? runs : 20, interruptAfterTimeLimit: 120_000 })
        if (together.has(contract.id)) {
          const answer = await send(scene.world, contract, scene.tenant, (await recipes[contract.id]?.ok(scene)) ?? {})
          return assert.equal(answer.status, contract.status, answer.text)
        }
        // A fuzzer whose every request is refused at the door has tried nothing.
        for (const input of fc.sample(fairInputs(contract), { seed, numRuns: 1_000 })) {
          if (isFulfilled(contract)) break
          await ask(scene, pool, contract, input)
        }
        assert.ok(isFulfilled(contract), `never fulfilled: ${answers.get(contract.id)?.last}`)
      })
    await scene.world.end()
    const all = [...answers.values()]
    const sum = (key: 'fulfilled' | 'refused') => all.reduce((n, seen) => n + seen[key], 0)
    t.diagnostic(
      `${sum('fulfilled')} fulfilled, ${sum('refused')} refused so far, none with 5xx; the slowest answer took ${Math.round(slowestMs)} ms`,
    )
  })
}
