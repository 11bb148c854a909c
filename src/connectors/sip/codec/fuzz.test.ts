import assert from 'node:assert/strict'
import { test } from 'node:test'
import { invite, octets, tortureMessages } from '../testing.ts'
import * as fields from './fields.ts'
import { Frames } from './frames.ts'
import { parse } from './parse.ts'
import { print } from './print.ts'

const long = process.env.TRUNKLINE_TEST_LONG === '1'
const rounds = long ? 1_000_000 : 60_000
const seed = Number(process.env.TRUNKLINE_TEST_SEED ?? 4475)

/** mulberry32: small, and the same everywhere. */
const makeRandom = (from: number) => {
  let state = from
  return (below: number): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

const seeds = [...tortureMessages().values(), octets(invite)]
const spice = [
  '\r\n',
  '\r\n\r\n',
  ' ',
  '"',
  '<',
  '>',
  ';',
  ',',
  '=',
  '\\',
  '\0',
  '%',
  '@',
  ':',
  '[',
  '99999999999',
  'Via: ',
  'é',
]

const mutate = (random: (below: number) => number): Buffer => {
  let octets = Buffer.from(seeds[random(seeds.length)] ?? '')
  for (let left = 1 + random(6); left > 0; left--) {
    const at = random(octets.length + 1)
    const until = Math.min(octets.length, at + random(random(3) === 0 ? 200 : 4))
    const other = seeds[random(seeds.length)] ?? octets
    const from = random(other.length)
    const put = [
      () => Buffer.from(spice[random(spice.length)] ?? ''),
      () => Buffer.from([random(256)]),
      () => other.subarray(from, from + random(60)),
      () => Buffer.alloc(0),
    ][random(4)]
    octets = Buffer.concat([octets.subarray(0, at), put?.() ?? Buffer.alloc(0), octets.subarray(until)])
  }
  return octets
}

/** What is read of a message later on. */
const readAll = (octets: Buffer): boolean => {
  const message = parse(octets)
  if (message.kind === 'malformed') {
    assert.ok(message.status >= 400 && message.status < 600)
    return false
  }
  for (const read of [fields.viasOf, fields.fromOf, fields.toOf, fields.callIdOf, fields.cseqOf, fields.contactsOf])
    read(message)
  for (const read of [fields.maxForwardsOf, fields.sessionExpiresOf, fields.minSeOf, fields.rackOf, fields.rseqOf])
    read(message)
  for (const read of [fields.expiresOf, fields.contentTypeOf, fields.retryAfterOf]) read(message)
  for (const name of ['Route', 'Record-Route', 'Path'] as const) fields.routesOf(message, name)
  assert.notEqual(parse(print(message)).kind, 'malformed')
  return true
}

test(`${rounds} mutated messages are read or refused, and nothing else is thrown (seed ${seed})`, () => {
  const random = makeRandom(seed)
  let sound = 0
  for (let round = 0; round < rounds; round++) {
    const octets = mutate(random)
    try {
      if (readAll(octets)) sound++
    } catch (error) {
      throw new Error(`seed ${seed}, round ${round}: ${JSON.stringify(octets.toString('latin1'))}`, { cause: error })
    }
  }
  // A fuzzer whose messages are all refused at the door, or all let in, proves nothing.
  assert.ok(sound > rounds / 100 && sound < rounds * 0.9, `${sound} of ${rounds} were sound`)
})

test(`streams of mutated messages are cut or given up, and nothing is thrown (seed ${seed})`, () => {
  const random = makeRandom(seed + 1)
  for (let round = 0; round < rounds / 10; round++) {
    const frames = new Frames(parse, () => {})
    for (let left = 4; left > 0 && frames.push(mutate(random)); left--);
  }
})
