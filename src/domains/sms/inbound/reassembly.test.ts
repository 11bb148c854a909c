import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import pino from 'pino'
import type { Tenant } from '../../../../test/world.ts'
import { contact, giveNumber, makeSmsWorld, type Smsc, withSmscs } from '../sms-testing.ts'

// Tests messages of handsets, octet by octet, over an independent carrier.

const lines: { level: number; msg: string; connection?: string; destination?: string }[] = []
const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
const world = await makeSmsWorld({ log })
const { call, connect, parts, tenant } = world
after(world.stop)

const make = async () => {
  const who = await tenant()
  return { who, ...(await giveNumber(world, who)) }
}
const textsOf = async (who: Tenant, channel: string): Promise<string[]> =>
  (await call(who, 'GET', `/open/sms/messages/${channel}/${contact}`)).body.messages.map(
    ({ text }: { text: string }) => text,
  )
const utf16 = (text: string) => Buffer.from(text, 'utf16le').swap16()
const hex = (octets: string) => Buffer.from(octets.replaceAll(' ', ''), 'hex')

let references = 0
/** Delivers octets as parts, the last part first. */
const inParts = async (smsc: Smsc, number: string, dataCoding: number, bodies: Buffer[], header = '') => {
  const reference = references++
  for (const [i, body] of [...bodies.entries()].reverse()) {
    const elements = Buffer.concat([Buffer.from([0, 3, reference, bodies.length, i + 1]), hex(header)])
    const status = await smsc.deliver({
      destination_addr: number.slice(1),
      esm_class: 0x40,
      data_coding: dataCoding,
      short_message: Buffer.concat([Buffer.from([elements.length]), elements, body]),
    })
    assert.equal(status, 0)
  }
}

test(
  'a character that is split between two parts arrives whole',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    await connect('split', smsc)
    const { who, number, channel } = await make()
    const emoji = utf16('Hi \u{1f600}!')
    await inParts(smsc, number, 8, [emoji.subarray(0, 8), emoji.subarray(8)])
    // Split within a UTF-16 unit, by a carrier that fills every part to 133 octets.
    await inParts(smsc, number, 8, [emoji.subarray(0, 7), emoji.subarray(7)])
    // One octet of padding at the end of a part.
    await inParts(smsc, number, 8, [Buffer.concat([utf16('ab'), Buffer.from([0])]), utf16('cd')])
    const kana = hex('82a0 82a2 82a4')
    await inParts(smsc, number, 5, [kana.subarray(0, 3), kana.subarray(3)])
    // An escape at the end of one part, its character at the beginning of the next.
    await inParts(smsc, number, 0, [hex('41 1b'), hex('65 42')])
    assert.deepEqual(await textsOf(who, channel), ['Hi \u{1f600}!', 'Hi \u{1f600}!', 'abcd', 'あいう', 'A€B'])
  }),
)

test(
  'the parts of a message are decoded by the language tables that their headers name',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    await connect('language', smsc)
    const { who, number, channel } = await make()
    await inParts(smsc, number, 0, [hex('1b67 61'), hex('1b53')], '240101')
    await inParts(smsc, number, 0, [hex('4d 52 5b 3d'), hex('1b19')], '250106 240106')
    assert.deepEqual(await textsOf(who, channel), ['ğaŞ', '\u0939\u0940\u0949\u092a\u0964'])
  }),
)

test(
  'a destination with 00 or in national form arrives at its number',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    await connect('national', smsc, { calling_code: '44' })
    const { who, number, channel } = await make()
    const national = number.slice(3)
    for (const [ton, to] of [
      [0, `00${number.slice(1)}`],
      [1, `00${number.slice(1)}`],
      [0, `0${national}`],
      [2, national],
      [0, national],
      [0, number.slice(1)],
    ] as const)
      await smsc.deliver({ dest_addr_ton: ton, destination_addr: to, short_message: `${ton} ${to}` })
    assert.equal((await textsOf(who, channel)).length, 6)
  }),
)

test(
  'an inbound message to an unassigned number is logged at warn and counted by connection',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    await connect('stray', smsc)
    const { who, number, channel } = await make()
    assert.equal(
      await smsc.deliver({ dest_addr_ton: 0, destination_addr: `0${number.slice(3)}`, short_message: 'x' }),
      0,
    )
    assert.deepEqual(await textsOf(who, channel), [])
    const strays = lines.filter(({ msg }) => msg === 'sms: inbound message to an unknown number dropped')
    assert.deepEqual(
      strays.map(({ level, connection }) => [level, connection]),
      [[40, 'stray']],
    )
    assert.doesNotMatch(JSON.stringify(strays), new RegExp(number.slice(3)))
    assert.match(await parts.metrics.registry.metrics(), /trunkline_sms_unattributed_total\{connection="stray"\} 1/)
  }),
)
