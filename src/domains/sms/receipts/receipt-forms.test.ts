import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import { until } from '../../../../test/platform.ts'
import type { Tenant } from '../../../../test/world.ts'
import { type RawSmsc, startRawSmsc } from '../raw-smsc-testing.ts'
import { contact, giveNumber, makeSmsWorld } from '../sms-testing.ts'

// Receipts and texts as carriers send them, octet by octet. The forms are those of public reports.

const world = await makeSmsWorld()
const { call, connect, messageOf, parts, send, tenant, waitForStatus } = world
after(world.stop)

type Stage = { smsc: RawSmsc; connection: string; who: Tenant; number: string; channel: string }

/** Runs a test with a carrier, its connection and a tenant with a number. */
const withCarrier =
  (settings: object, run: (stage: Stage) => Promise<void>) =>
  async (t: TestContext): Promise<void> => {
    const smsc = await startRawSmsc()
    const connection = await connect('raw', smsc, settings)
    t.after(async () => {
      await call('operator', 'DELETE', `/operator/connections/${connection}`)
      await until(async () => parts.carriers.state(connection.slice(3)) === null)
      smsc.close()
    })
    const who = await tenant()
    await run({ smsc, connection, who, ...(await giveNumber(world, who)) })
  }

const hex = (octets: string) => Buffer.from(octets, 'hex')
const digits = (number: string) => number.slice(1)

const sendAs = async ({ smsc, who, number }: Stage, id: string, to = contact): Promise<string> => {
  smsc.messageId = id
  const { body } = await send(who, number, 'x', { to })
  await waitForStatus(who, body.message_uuid, 'sent')
  return body.message_uuid
}

/** Texts of a contact that arrived, oldest first. */
const textsFrom = async ({ who, channel }: Stage, from = contact): Promise<string[]> =>
  (await call(who, 'GET', `/open/sms/messages/${channel}/${from}`)).body.messages
    .filter(({ direction }: { direction: string }) => direction === 'inbound')
    .map(({ text }: { text: string }) => text)

const unparsedOf = async (connection: string) =>
  (await call('operator', 'GET', `/operator/connections/${connection}/unparsed-receipts`)).body.receipts

test(
  'a receipt in ASCII is read whatever its data_coding says',
  withCarrier({}, async (stage) => {
    const { smsc, who, number } = stage
    const octets = hex(
      '69643a5332313331313234323039313633363530343435383636207375623a30303120646c7672643a303031207375626d697420646174653a32363131323730393330303020646f6e6520646174653a32363131323730393330303720737461743a44454c49565244206572723a30303020746578743a',
    )
    const addresses = { from: digits(contact), to: digits(number), ton: 0, npi: 0 }
    const id = await sendAs(stage, 'S2131124209163650445866')
    assert.equal(await smsc.deliver({ ...addresses, esmClass: 4, dataCoding: 8, octets }), 0)
    await waitForStatus(who, id, 'delivered')
    // The default alphabet has `_` and `@` at other places than ASCII. The text of the message has its own coding.
    for (const [dataCoding, carrierId] of [
      [0, 'a_b@c$1'],
      [0xf1, 'a_b2'],
      [0x48, 'a_b3'],
    ] as const) {
      const message = await sendAs(stage, carrierId)
      const text = Buffer.concat([Buffer.from(`id:${carrierId} stat:DELIVRD err:000 text:`), hex('041f0440')])
      assert.equal(await smsc.deliver({ ...addresses, esmClass: 4, dataCoding, octets: text }), 0)
      await waitForStatus(who, message, 'delivered')
    }
    const wide = await sendAs(stage, 'wide')
    const utf16 = Buffer.from('id:wide stat:UNDELIV err:001', 'utf16le').swap16()
    assert.equal(await smsc.deliver({ ...addresses, esmClass: 4, dataCoding: 8, octets: utf16 }), 0)
    await waitForStatus(who, wide, 'undelivered')
  }),
)

test(
  'words and numbers of carriers for the state of a message are understood',
  withCarrier({}, async (stage) => {
    const { smsc, who, number, connection } = stage
    const failed = await sendAs(stage, 'f447')
    const octets = hex(
      '69643a66343437207375623a30303120646c7672643a303031207375626d697420646174653a3236313132373039333020646f6e6520646174653a3030303030303030303020737461743a4641494c4544206572723a30303220546578743a',
    )
    const addresses = { from: digits(contact), to: digits(number), esmClass: 4 }
    await smsc.deliver({ ...addresses, octets })
    assert.equal((await waitForStatus(who, failed, 'undelivered')).error_code, '002')
    for (const [word, status] of [
      ['SUCCESS', 'delivered'],
      ['NACK', 'rejected'],
      ['SKIPPED', 'undelivered'],
      ['2', 'delivered'],
      ['008', 'rejected'],
      ['UNDELIVER', 'undelivered'],
      ['FAILED_24', 'undelivered'],
    ] as const) {
      const message = await sendAs(stage, `w-${word}`)
      // Not final: the message waits for another receipt.
      await smsc.deliver({ ...addresses, octets: Buffer.from(`id:w-${word} stat:BUFFRED err:000`) })
      assert.equal((await messageOf(who, message)).status, 'sent')
      await smsc.deliver({ ...addresses, octets: Buffer.from(`id:w-${word} stat:${word} err:000`) })
      await waitForStatus(who, message, status)
    }
    assert.deepEqual(await unparsedOf(connection), [])
  }),
)

test(
  'a receipt that is not understood is kept with its octets for the operator, and its word can be given a state',
  withCarrier({ receipt_states: { Parked: 'enroute', '11': 'expired' } }, async (stage) => {
    const { smsc, who, number, connection } = stage
    const addresses = { from: digits(contact), to: digits(number), esmClass: 4 }
    const message = await sendAs(stage, 'odd')
    const octets = Buffer.from('id:odd stat:LOSTWORD err:000')
    assert.equal(await smsc.deliver({ ...addresses, octets, parameters: '1403 0002 beef' }), 0)
    const [unparsed, ...others] = await unparsedOf(connection)
    assert.equal(others.length, 0)
    const { received_at: _, ...shown } = unparsed
    assert.deepEqual(shown, {
      reason: 'unknown_state',
      from: contact,
      to: number,
      text: 'id:odd stat:LOSTWORD err:000',
      octets: octets.toString('hex'),
      fields: { esm_class: '0x04', data_coding: '0x00', '0x1403': 'beef' },
    })
    await smsc.deliver({ ...addresses, octets: Buffer.from('delivery of 7 ok\0') })
    await smsc.deliver({ ...addresses, octets: Buffer.from('id:odd stat:PARKED err:000') })
    const rows = await unparsedOf(connection)
    assert.deepEqual(
      rows.map(({ reason, text }: Record<string, string>) => [reason, text]),
      [
        ['no_id', 'delivery of 7 ok.'],
        ['unknown_state', 'id:odd stat:LOSTWORD err:000'],
      ],
    )
    // A number of message_state that no standard has.
    await smsc.deliver({ ...addresses, octets: Buffer.from('id:odd'), parameters: '0427 0001 0b' })
    await waitForStatus(who, message, 'expired')
    const changed = await world.change(connection, { settings: { receipt_states: { LOSTWORD: 'gone' } } })
    assert.match(JSON.stringify(changed), /settings\.receipt_states\.LOSTWORD must be one of enroute/)
  }),
)

test(
  'the newest hundred receipts that are not understood are kept of each connection',
  withCarrier({}, async ({ smsc, number, connection }) => {
    const addresses = { from: digits(contact), to: digits(number), esmClass: 4 }
    const all = Array.from({ length: 130 }, (_, i) => smsc.deliver({ ...addresses, octets: Buffer.from(`lost ${i}`) }))
    assert.deepEqual([...new Set(await Promise.all(all))], [0])
    const rows = await unparsedOf(connection)
    assert.equal(rows.length, 100)
    assert.equal(rows[0].text, 'lost 129')
  }),
)

/** Numbers, each with another form that its network reports: former, current, or both dialled. */
const twoForms = [
  ['+5541991230001', '554191230001'],
  ['+525512345678', '5215512345678'],
  ['+5491123459901', '541123459901'],
  ['+541123459902', '5491123459902'],
  ['+84327123456', '841627123456'],
  ['+2290197123456', '22997123456'],
  // National, in the former form.
  ['+5541991230003', '04191230003'],
] as const

test(
  'a receipt under another form of the recipient’s number applies to its message',
  withCarrier({}, async (stage) => {
    const { smsc, who, number } = stage
    const report = async (id: string, to: string, from: string) => {
      const message = await sendAs(stage, id, to)
      const octets = Buffer.from(`id:${id} stat:DELIVRD err:000`)
      await smsc.deliver({ from, to: digits(number), ton: 0, npi: 0, esmClass: 4, octets })
      await waitForStatus(who, message, 'delivered')
    }
    // The connection learns that its receipts repeat the ids of its responses.
    await report('learn', contact, digits(contact))
    for (const [n, [to, from]] of twoForms.entries()) await report(`form-${n}`, to, from)
  }),
)

test(
  'a receipt without esm_class applies under another form of the recipient’s number, and is no text',
  withCarrier({ receipts_without_esm_class: true }, async (stage) => {
    const { smsc, who, number } = stage
    for (const [n, [to, from]] of twoForms.entries()) {
      const message = await sendAs(stage, `bare-${n}`, to)
      const octets = Buffer.from(`id:bare-${n} stat:DELIVRD err:000`)
      await smsc.deliver({ from, to: digits(number), ton: 0, npi: 0, octets })
      // A receipt that is taken for a text never changes the message.
      assert.deepEqual(await textsFrom(stage, to), [])
      await waitForStatus(who, message, 'delivered')
    }
  }),
)

const withoutClass = hex(
  '69643a31323435333931393137207375626d697420646174653a3236313132373039333020646f6e6520646174653a3236313132373039333120737461743a44454c49565244206572723a303030',
)

test(
  'a receipt without esm_class is read where the connection says so, for its handset and id alone',
  withCarrier({ receipts_without_esm_class: true }, async (stage) => {
    const { smsc, who, number } = stage
    const stranger = '+447911999000'
    // The carrier answers in hexadecimal and reports in decimal.
    const message = await sendAs(stage, '4a3b2c2d')
    // Another handset writes the receipt of this message: that is a text.
    assert.equal(await smsc.deliver({ from: digits(stranger), to: digits(number), octets: withoutClass }), 0)
    assert.deepEqual(await textsFrom(stage, stranger), [withoutClass.toString()])
    assert.equal((await messageOf(who, message)).status, 'sent')
    // So does the handset itself, of a message to another one.
    const other = await sendAs(stage, 'other', stranger)
    await smsc.deliver({
      from: digits(contact),
      to: digits(number),
      octets: Buffer.from('id:other stat:UNDELIV err:1'),
    })
    assert.deepEqual(await textsFrom(stage), ['id:other stat:UNDELIV err:1'])
    assert.equal((await messageOf(who, other)).status, 'sent')

    assert.equal(await smsc.deliver({ from: digits(contact), to: digits(number), octets: withoutClass }), 0)
    await waitForStatus(who, message, 'delivered')
    assert.equal((await textsFrom(stage)).length, 1)
    // Some carriers repeat the numbers of the submit.
    const swapped = Buffer.from('id:other stat:UNDELIV err:000')
    await smsc.deliver({ from: digits(number), to: digits(stranger), octets: swapped })
    await waitForStatus(who, other, 'undelivered')
  }),
)

test(
  'a handset cannot forge the receipt of a message to another number of the platform',
  withCarrier({ receipts_without_esm_class: true }, async (stage) => {
    const { smsc, who } = stage
    const neighbour = await tenant()
    const { number: target, channel } = await giveNumber(world, neighbour)
    const message = await sendAs(stage, '77', target)
    // Sent to the recipient of that message, so that its destination is the handset of the receipt.
    await smsc.deliver({ from: digits(contact), to: digits(target), octets: Buffer.from('id:77 stat:UNDELIV err:000') })
    assert.equal((await textsFrom({ ...stage, who: neighbour, channel })).length, 1)
    // A short number that is the end of the other one.
    const end = target.slice(-9)
    await smsc.deliver({ from: end, to: digits(stage.number), octets: Buffer.from('id:77 stat:UNDELIV err:000') })
    assert.equal((await messageOf(who, message)).status, 'sent')
  }),
)

test(
  'a receipt without esm_class is a text by default',
  withCarrier({}, async (stage) => {
    const { smsc, who, number } = stage
    const message = await sendAs(stage, '4a3b2c2d')
    await smsc.deliver({ from: digits(contact), to: digits(number), octets: withoutClass })
    assert.deepEqual(await textsFrom(stage), [withoutClass.toString()])
    assert.equal((await messageOf(who, message)).status, 'sent')
  }),
)

test(
  'the filled one of short_message and message_payload is the text',
  withCarrier({}, async (stage) => {
    const { smsc, who, number } = stage
    const addresses = { from: digits(contact), to: digits(number) }
    const octets = hex('5465787420696e2073686f72745f6d657373616765')
    await smsc.deliver({ ...addresses, octets, parameters: '0424 0000' })
    await smsc.deliver({ ...addresses, octets: Buffer.alloc(0), parameters: '0424 0002 6869' })
    await smsc.deliver({ ...addresses, octets: Buffer.from('beside NUL'), parameters: '0424 0001 00' })
    // 0 is @ in the default alphabet.
    await smsc.deliver({ ...addresses, octets: Buffer.alloc(0), parameters: '0424 0001 00' })
    // 5F is § in the default alphabet.
    const expected = ['Text in short§message', 'hi', 'beside NUL', '@']
    assert.deepEqual((await textsFrom(stage)).sort(), expected.sort())
    const message = await sendAs(stage, 'both')
    const receipt = Buffer.from('id:both stat:DELIVRD err:000')
    await smsc.deliver({ ...addresses, esmClass: 4, octets: receipt, parameters: '001e 0000 0427 0000 0424 0000' })
    await waitForStatus(who, message, 'delivered')
  }),
)

test(
  'texts obey byte-order marks and the coding groups of 23.038, and long ones may have further elements',
  withCarrier({}, async (stage) => {
    const { smsc, number } = stage
    const addresses = { from: digits(contact), to: digits(number) }
    const little = Buffer.from('\ufeffПривет', 'utf16le')
    const big = Buffer.from('\ufeffПривет!', 'utf16le').swap16()
    const messages: [dataCoding: number, octets: Buffer][] = [
      [0x08, little],
      [0x08, big],
      [0x00, Buffer.from('\ufeffcafé – ok', 'utf8')],
      [0x48, Buffer.from('Ж1', 'utf16le').swap16()],
      [0xe8, Buffer.from('Ж2', 'utf16le').swap16()],
      [0x58, Buffer.from('Ж3', 'utf16le').swap16()],
      [0xc8, hex('1b65')],
      [0x84, hex('0035')],
      [0x08, Buffer.from('\ufeff\ufeffdoubled', 'utf16le').swap16()],
      [0x08, Buffer.from('\ufeff\ufeffdoubled too', 'utf8')],
    ]
    for (const [dataCoding, octets] of messages) await smsc.deliver({ ...addresses, dataCoding, octets })
    for (const part of ['0b05040b8423f000035a020146697273742068616c662c20', '0500035a02027365636f6e642068616c662e'])
      await smsc.deliver({ ...addresses, esmClass: 0x40, dataCoding: 0xf2, octets: hex(part) })
    // Parts in UTF-8, each with a mark.
    for (const part of ['0500035b0201efbbbf4865c3', '0500035b0202efbbbfa96c6c6f'])
      await smsc.deliver({ ...addresses, esmClass: 0x40, dataCoding: 0x08, octets: hex(part) })
    const expected = ['Привет', 'Привет!', 'café – ok', 'Ж1', 'Ж2', 'Ж3', '€', '@5', 'First half, second half.']
    expected.push('doubled', 'doubled too', 'Heéllo')
    assert.deepEqual((await textsFrom(stage)).sort(), expected.sort())
  }),
)

test(
  'a refusal with a body is a refusal',
  withCarrier({}, async ({ smsc, who, number }) => {
    smsc.refusal = { status: 0x0b, body: hex('3041303030303030413344333233413100') }
    const { body } = await send(who, number, 'x')
    assert.equal((await waitForStatus(who, body.message_uuid, 'rejected', 'failed')).error_code, 'ESME_RINVDSTADR')
  }),
)
