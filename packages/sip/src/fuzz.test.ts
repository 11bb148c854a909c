import assert from 'node:assert/strict'
import { test } from 'node:test'
import { randomInputs } from '../../../test/needs.ts'
import * as fields from './fields.ts'
import { MessageFramer } from './message-framer.ts'
import { parseMessage } from './parse.ts'
import { printMessage } from './print.ts'
import { makeRandom, mutate } from './testing.ts'
import { invite, octets, tortureMessages } from './user-agent/testing.ts'

const long = process.env.TRUNKLINE_TEST_LONG === '1'
const rounds = long ? 1_000_000 : randomInputs(30_000)
const seed = Number(process.env.TRUNKLINE_TEST_SEED ?? 4475)

const seeds = [...tortureMessages().values(), octets(invite)]

/** Reads everything that later code reads of a message. */
const readAll = (octets: Buffer): boolean => {
  const message = parseMessage(octets)
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
  assert.notEqual(parseMessage(printMessage(message)).kind, 'malformed')
  return true
}

test(`${rounds} mutated messages are read or refused without any other exception (seed ${seed})`, () => {
  const random = makeRandom(seed)
  let sound = 0
  for (let round = 0; round < rounds; round++) {
    const octets = mutate(random, seeds)
    try {
      if (readAll(octets)) sound++
    } catch (error) {
      throw new Error(`seed ${seed}, round ${round}: ${JSON.stringify(octets.toString('latin1'))}`, { cause: error })
    }
  }
  // A fuzzer whose messages are all refused, or all accepted, proves nothing.
  assert.ok(sound > rounds / 100 && sound < rounds * 0.9, `${sound} of ${rounds} were sound`)
})

test(`streams of mutated messages are split or given up without an exception (seed ${seed})`, () => {
  const random = makeRandom(seed + 1)
  for (let round = 0; round < rounds / 10; round++) {
    const frames = new MessageFramer(parseMessage, () => {})
    for (let left = 4; left > 0 && frames.push(mutate(random, seeds)); left--);
  }
})
