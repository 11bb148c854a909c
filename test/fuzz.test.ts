import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { compatContracts, contracts as native } from '../src/contracts.ts'
import type { Contract } from '../src/platform/http/endpoint.ts'
import { formType } from '../src/platform/http/form-body.ts'
import { printSid } from '../src/platform/lib/sid.ts'
import { seedOfCommit } from './commit-seed.ts'
import { fillIds, type Input, inputs, kindsIn, makePool, type Pool, validInputs } from './fuzz/input.ts'
import { faultOf, type SentRequest } from './fuzz/oracle.ts'
import { measureHold } from './fuzz/slowest-input.ts'
import { makeStock } from './fuzz/stock.ts'
import { everyFifth } from './needs.ts'
import { recipes } from './recipes/all.ts'
import { makeRecipeWorld, makeScene } from './recipes/scene.ts'
import { fields, nodeOf } from './recipes/schema.ts'
import { formOf, type RequestOverrides, send, sendTo } from './recipes/send.ts'
import { walkedCompatContracts, walkedContracts } from './walked-contracts.ts'

// Every endpoint receives inputs that its schema allows, nearly allows, or that have broken programs before. Ids come
// from earlier answers. No answer may be a 5xx, break its schema, take over 2 s, or accept input that the schema
// forbids.
//
//   TRUNKLINE_FUZZ_SEED    another seed than that of the commit; the long form takes a new one each time
//   TRUNKLINE_FUZZ_INPUTS  the number of requests of the long form (npm run fuzz)

const all = [...native, ...compatContracts]
const contracts: readonly Contract[] = [...walkedContracts, ...walkedCompatContracts]

const long = process.env.TRUNKLINE_TEST_LONG === '1'
const isFull = process.env.TRUNKLINE_TEST_FORM === 'full'
/** The short form sends few requests: 5 to each endpoint. */
const total = long ? Number(process.env.TRUNKLINE_FUZZ_INPUTS ?? 500_000) : isFull ? 4_000 : 1_300
/** Requests in one world: longer lists would leave no time for other endpoints. */
const perWorld = Math.min(total, 8_000)
const firstSeed = Number(process.env.TRUNKLINE_FUZZ_SEED ?? (long ? randomInt(2 ** 31) : seedOfCommit()))

const asText = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))

/** Percent-encodes any string; half of a surrogate pair becomes bytes that no decoder accepts. */
const escaped = (text: string): string =>
  text.isWellFormed() ? encodeURIComponent(text) : `%ED%A0%80${encodeURIComponent(text.toWellFormed())}`

const answers = new Map<string, { fulfilled: number; refused: number; last: string }>()
let slowestMs = 0
let brokenAnswers = 0
/** The longest time that one request held the event loop, and its URL. PostgreSQL's part is not included. */
let held = { ms: 0, url: '' }
const isFulfilled = ({ id }: Contract) => (answers.get(id)?.fulfilled ?? 0) > 0

/** The fields of a form as a client sends them: a name that is repeated has a list. */
const readForm = (form: string): { [name: string]: unknown } => {
  const groups = Map.groupBy(new URLSearchParams(form), ([name]) => name)
  return Object.fromEntries(
    [...groups].map(([name, pairs]) => [name, pairs.length > 1 ? pairs.map(([, value]) => value) : pairs[0]?.[1]]),
  )
}

type PreparedRequest = { url: string; sent: SentRequest; change: RequestOverrides }

const prepared = (contract: Contract, input: Input, pool: Pool, account: string): PreparedRequest => {
  const given = Object.fromEntries(input.params.map(([name, value]) => [name, asText(fillIds(value, pool))]))
  // Another account in the path is refused before anything else.
  const params = 'AccountSid' in given ? { ...given, AccountSid: account } : given
  const query = input.query.map(([name, value]): [string, string] => [name, asText(fillIds(value, pool))])
  const filled = fillIds(input.body, pool)
  const form = contract.form ? formOf(filled) : undefined
  const body = form === undefined ? filled : readForm(form)
  const path = contract.url.replace(/:(\w+)/g, (_, name: string) => escaped(params[name] ?? ''))
  const search = query.map(([name, text]) => `${escaped(name)}=${escaped(text)}`).join('&')
  const media = nodeOf(contract.body).contentMediaType
  const plain = form ?? (media && typeof body === 'string' ? body : JSON.stringify(body))
  const type = contract.form ? formType : (media ?? 'application/json')
  const payload = input.raw ?? plain
  return {
    url: search === '' ? path : `${path}?${search}`,
    sent: {
      ...{ params, query, headers: input.headers },
      ...{ body: input.raw === null ? body : undefined, isRaw: input.raw !== null },
    },
    change: {
      ...(payload === undefined ? {} : { payload }),
      headers: { ...(payload === undefined ? {} : { 'content-type': type }), ...input.headers },
    },
  }
}

/** Refusals that a contract does not list. */
const unlistedCodes = new Set<string>()

/** A tenant without a rate limit, and another one as a target of changes. */
const open = async () => {
  const world = await makeRecipeWorld()
  const rich = await world.tenant({ balance: '1000000', requestsPerMinute: 100_000_000 })
  const limits = { spend_per_day: '1000000', calls_at_a_time: 10_000, attempts_per_minute: 100_000 }
  const limited = await world.call('operator', 'PATCH', `/operator/accounts/${rich.uuid}/call-limits`, limits)
  assert.equal(limited.status, 200, JSON.stringify(limited.body))
  const pool = makePool(new Set([rich.uuid]))
  const [scene, toy] = [await makeScene(world, 'fuzz', rich), await makeScene(world, 'toy')]
  return { scene, pool, stock: makeStock(scene, toy, pool) }
}

type Stage = Awaited<ReturnType<typeof open>>

const ask = async ({ scene, pool, stock }: Stage, contract: Contract, input: Input) => {
  await stock.supply(kindsIn(input))
  const { url, sent, change } = prepared(contract, input, pool, printSid('AC', scene.tenant.id))
  if (contract.auth === 'voice') change.key = (await recipes[contract.id]?.ok(scene))?.bearer ?? null
  const began = performance.now()
  const request = () => sendTo(scene.world, contract, scene.tenant, url, change)
  // The measurement polls the event loop, which takes a sixth of the processor time of the short form.
  const { value: answer, ms } = long ? await measureHold(request) : { value: await request(), ms: 0 }
  const took = performance.now() - began
  if (!contract.waits) slowestMs = Math.max(slowestMs, took)
  if (ms > held.ms) held = { ms, url: `${contract.method} ${contract.url}` }
  if (answer.status < 300) pool.learn(answer.text)
  const seen = answers.get(contract.id) ?? { fulfilled: 0, refused: 0, last: '' }
  seen[answer.status < 300 ? 'fulfilled' : 'refused']++
  if (answer.status >= 300) seen.last = `${url} ${answer.status} ${answer.text}`
  answers.set(contract.id, seen)
  // The time is judged by the long form, on a quiet machine.
  const wrong = faultOf(contract, sent, answer, long ? took : 0)
  if (wrong === null) return
  // Chance may reach a refusal that no recipe has. The long form fails then; the short one reports it.
  const unlisted = /"error_message":"(The contract \w+ lists no [^"]*)"/.exec(answer.text)?.[1]
  if (unlisted !== undefined && !long) return void unlistedCodes.add(unlisted)
  if (answer.status >= 500) brokenAnswers++
  const { payload, headers } = change
  throw new Error(`${wrong}\n${contract.method} ${url}\n${JSON.stringify(headers)}\n${String(payload).slice(0, 2000)}`)
}

/** True if a path has more than the account. */
const hasSid = (params: Contract['params']): boolean =>
  fields(params).some(([name]) => ['Sid', 'CallSid', 'CountryCode'].includes(name))

/**
 * Endpoints that need related inputs (a message and the handset that wrote it), short-lived things, or a name. The
 * fuzzer covers their refusals; their recipes cover success.
 */
const together = new Set([
  'getCallTimelineOfAccount',
  'getAssertedCaller',
  'hangUpCall',
  // A caller ID and a program; a call that is queued.
  'createCall',
  'commandCall',
  'getMsgappChannelQrCode',
  'editFromHandset',
  'reactFromHandset',
  'joinFromHandset',
  'leaveFromHandset',
  'pairChannel',
  'hangUpFromHandset',
  'pressOnHandset',
  'deletePrice',
  'verifyCallerId',
  'checkNumber',
  'addParticipant',
  'removeParticipant',
  'promoteParticipant',
  'demoteParticipant',
  'setGroupDescription',
  'checkTrunk',
  // Tokens, passwords and sessions cannot be guessed.
  'claimInstallation',
  'signIn',
  'proveSession',
  'endSession',
  'changeMe',
  'changePassword',
  'showInvitation',
  'acceptInvitation',
  'requestEmailProof',
  'proveEmail',
  'changePerson',
  'createPasswordLink',
  'createClaimLink',
  'listPasskeys',
  'preparePasskey',
  'createPasskey',
  'deletePasskey',
  'showSecondFactor',
  'prepareSecondFactor',
  'activateSecondFactor',
  'removeSecondFactor',
  // Persons alone have subscriptions, and pictures come from a network.
  'createPushSubscription',
  'deletePushSubscription',
  'listPushSubscriptions',
  'testPushSubscription',
  'getContactPicture',
  // Refused once any account is no longer a sandbox account.
  'moveClock',
  // Tokens are two at most; SIDs, free numbers and senders cannot be guessed.
  'createCompatCredentials',
  'revokeCompatCredentials',
  ...compatContracts.filter(({ params, method }) => method !== 'GET' || hasSid(params)).map(({ id }) => id),
  'twilioLookUpV1',
])

const hasInput = ({ params, query, body }: Contract) => params || query || body
const runs = Math.ceil(perWorld / all.filter(hasInput).length)

for (let round = 0; round * perWorld < total; round++) {
  const seed = (firstSeed + round) | 0
  test(`no endpoint breaks, whatever the request (TRUNKLINE_FUZZ_SEED=${seed})`, async (t) => {
    const stage = await open()
    const { scene, stock } = stage
    // Read-only endpoints leave everything intact.
    let isTouched = true
    for (const [n, contract] of contracts.entries())
      await t.test(contract.id, everyFifth(n), async () => {
        if (isTouched) await stock.renew()
        isTouched = contract.method !== 'GET'
        const property = fc.asyncProperty(inputs(contract), (input) => ask(stage, contract, input))
        // An endpoint without inputs has only headers and bodies to fuzz.
        await fc.assert(property, { seed, numRuns: hasInput(contract) ? runs : 20, interruptAfterTimeLimit: 120_000 })
        if (together.has(contract.id)) {
          const answer = await send(scene.world, contract, scene.tenant, (await recipes[contract.id]?.ok(scene)) ?? {})
          return assert.equal(answer.status, contract.status, answer.text)
        }
        // A fuzzer whose every request is refused has tested nothing.
        for (const numRuns of [20, 100, 1_000]) {
          if (isFulfilled(contract)) break
          for (const input of fc.sample(validInputs(contract), { seed, numRuns })) {
            if (isFulfilled(contract)) break
            await ask(stage, contract, input)
          }
        }
        assert.ok(isFulfilled(contract), `never fulfilled: ${answers.get(contract.id)?.last}`)
      })
    await scene.world.end()
    const all = [...answers.values()]
    const sum = (key: 'fulfilled' | 'refused') => all.reduce((n, seen) => n + seen[key], 0)
    for (const unlisted of unlistedCodes) t.diagnostic(unlisted)
    t.diagnostic(
      `${sum('fulfilled')} fulfilled, ${sum('refused')} refused so far, ${brokenAnswers} with 5xx; the slowest answer took ${Math.round(slowestMs)} ms` +
        (long ? `, and one held the event loop for ${held.ms.toFixed(1)} ms at a time (${held.url})` : ''),
    )
  })
}
