import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { SegmentedMessage } from 'sms-segments-calculator'
import splitSms from 'split-sms'
import { randomInputs } from '../../../../test/needs.ts'
import { until } from '../../../../test/platform.ts'
import type { Tenant } from '../../../../test/world.ts'
import { contact, giveNumber, makeSmsWorld, type Smsc, type Submit, withSmscs } from '../sms-testing.ts'

// Sends texts of every length and alphabet through the whole platform to an independent carrier, and joins the parts as
// a handset does. Seed: TRUNKLINE_TEST_SEED; the short form uses a fixed seed.

const long = process.env.TRUNKLINE_TEST_LONG === '1'
const seed = Number(process.env.TRUNKLINE_TEST_SEED ?? (long ? Date.now() % 1_000_000 : 1))

const world = await makeSmsWorld()
after(world.stop)
const who = await world.tenant({ balance: '100000' })
const { number } = await giveNumber(world, who)

const family = '👨‍👩‍👧‍👦'
const letter = fc.constantFrom('a', 'Z', '0', ' ', '\n', 'é', 'Δ', '€', '{', '~', '\\', '\f')
const sign = fc.constantFrom('a', 'я', '字', 'ش', 'ê', '😀', '🇬🇧', '👍🏽', family, 'e\u0301', '\u200d', '’')
const fitting = (pieces: string[]) => {
  let text = ''
  for (const piece of pieces) if (text.length + piece.length <= 1_600) text += piece
  return text || 'a'
}
const edges = fc.constantFrom(1, 67, 70, 71, 134, 135, 152, 153, 160, 161, 304, 306, 307, 1_530, 1_600)
const texts = fc.oneof(
  fc.array(letter, { minLength: 1, maxLength: 1_600, size: 'max' }).map(fitting),
  fc.array(sign, { minLength: 1, maxLength: 500, size: 'max' }).map(fitting),
  fc.tuple(edges, letter).map(([length, one]) => one.repeat(length).slice(0, 1_600)),
  fc.tuple(edges, sign).map(([length, one]) => fitting(['я'.repeat(Math.max(0, length - 1)), one, 'я'])),
)

const joined = (submits: readonly Submit[]): string =>
  [...submits]
    .sort((a, b) => (a.concat?.part ?? 0) - (b.concat?.part ?? 0))
    .map(({ text }) => text)
    .join('')

/** Sends a text and returns what the carrier received. */
const carried = async (smsc: Smsc, tenant: Tenant, text: string) => {
  const from = smsc.submits.length
  const { status, body } = await world.send(tenant, number, text)
  assert.equal(status, 202, JSON.stringify(body))
  const message = await until(async () => {
    const found = await world.messageOf(tenant, body.message_uuid)
    return found.status === 'sent' ? found : null
  })
  return { message, submits: smsc.submits.slice(from) }
}

const price = 0.04

for (const mode of ['udh8', 'udh16'] as const)
  test(
    `every text arrives as sent, in exactly the counted and charged parts (${mode}, seed ${seed})`,
    withSmscs(world, 1, async ([smsc]) => {
      assert.ok(smsc)
      await world.connect('only', smsc, { long: mode, window: 100 })
      const property = fc.asyncProperty(texts, async (text) => {
        const preview = await world.call(who, 'POST', '/open/sms/preview', { to_number: contact, text })
        const { message, submits } = await carried(smsc, who, text)
        assert.equal(joined(submits), text)
        assert.equal(message.text, text)
        assert.equal(message.fragments, submits.length)
        assert.equal(message.price, Math.round(submits.length * price * 1e6) / 1e6)
        assert.deepEqual([preview.body.fragments, preview.body.price], [message.fragments, message.price])
        assert.deepEqual(
          preview.body.parts,
          submits.map((submit) => submit.text),
        )
        assert.equal(preview.body.encoding, submits[0]?.dataCoding === 8 ? 'ucs2' : 'gsm7')
        for (const submit of submits) assert.ok(submit.text.isWellFormed())
        if (mode !== 'udh8') return
        // Grapheme clusters are not split if they fit, so the oracle, which splits them, needs no more parts.
        assert.equal(new SegmentedMessage(text).segments.length, message.fragments)
        if (!/[\u200d\u0301🇦-🇿🏻-🏿]/u.test(text)) assert.equal(splitSms.split(text).parts.length, message.fragments)
      })
      await fc.assert(property, { seed, numRuns: long ? 1_000 : randomInputs(60) })
    }),
  )

test(
  'a carrier that splits messages itself gets them whole, and the resulting parts are counted',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    await world.connect('only', smsc, { long: 'payload' })
    const { message, submits } = await carried(smsc, who, 'x'.repeat(400))
    assert.deepEqual([submits.length, submits[0]?.isPayload, submits[0]?.text.length], [1, true, 400])
    assert.deepEqual([message.fragments, message.price], [3, 0.12])
    smsc.receipt(submits[0]?.id ?? '', 'DELIVRD', contact, number)
    await world.waitForStatus(who, message.uuid, 'delivered')
  }),
)
