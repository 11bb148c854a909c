import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { randomInputs } from '../../../test/needs.ts'
import { decodePdu, isMalformed } from './decode.ts'
import { encodePdu } from './encode.ts'
import { type Address, noTlvs, type Pdu, type ShortMessagePdu, statuses, tags } from './pdu.ts'
import { PduFramer } from './pdu-framer.ts'
import { isReceipt, readReceipt, receiptText } from './receipt.ts'
import { decodeText, encodeText } from './text-encoding.ts'
import { concat8, concat16, decodeParts, readUserData, sarTlvs } from './user-data.ts'

/** User data without the octets of a part. */
const readText = (pdu: ShortMessagePdu) => {
  const { text, concat } = readUserData(pdu)
  return { text, concat }
}

const hex = (text: string): Buffer => Buffer.from(text.replace(/\s/g, ''), 'hex')

const decoded = (frame: Buffer): Pdu => {
  const pdu = decodePdu(frame)
  assert.ok(!isMalformed(pdu), 'malformed')
  return pdu
}

const message = (fields: Partial<ShortMessagePdu> = {}): ShortMessagePdu => ({
  command: 'submit_sm',
  sequence: 7,
  status: 0,
  serviceType: '',
  source: { ton: 1, npi: 1, address: '447911123456' },
  destination: { ton: 1, npi: 1, address: '33612345678' },
  esmClass: 0,
  protocolId: 0,
  priority: 0,
  schedule: '',
  validity: '',
  registered: 1,
  replaceIfPresent: 0,
  dataCoding: 0,
  defaultMessageId: 0,
  shortMessage: Buffer.from('Hi'),
  tlvs: noTlvs,
  ...fields,
})

const range = { ton: 1, npi: 1, address: '' }
const golden: [name: string, frame: string, pdu: Pdu][] = [
  [
    "the standard's own bind_transmitter (SMPP 3.4, 3.2.3)",
    '0000002f 00000002 00000000 00000001 534d50503354455354 00 7365637265743038 00 5355424d495431 00 00 01 01 00',
    {
      command: 'bind_transmitter',
      sequence: 1,
      status: 0,
      systemId: 'SMPP3TEST',
      password: 'secret08',
      systemType: 'SUBMIT1',
      version: 0,
      range,
    },
  ],
  [
    'submit_sm',
    `0000003a 00000004 00000000 00000007 00 01 01 343437393131313233343536 00 01 01 3333363132333435363738 00
     00 00 00 00 00 01 00 00 00 02 4869`,
    message(),
  ],
  [
    'submit_sm_resp',
    '00000014 80000004 00000000 00000007 616263 00',
    { command: 'submit_sm_resp', sequence: 7, status: 0, messageId: 'abc', tlvs: noTlvs },
  ],
  [
    'a receipt in deliver_sm with its two parameters',
    `0000004a 00000005 00000000 00000003 00 01 01 343437393131313233343536 00 01 01 3333363132333435363738 00
     04 00 00 00 00 01 00 00 00 02 4869 001e 0003 616200 0427 0001 02 0000 0000`,
    message({
      command: 'deliver_sm',
      sequence: 3,
      esmClass: 4,
      tlvs: new Map([
        [tags.receipted_message_id, Buffer.from('ab\0')],
        [tags.message_state, Buffer.from([2])],
        [0, Buffer.alloc(0)],
      ]),
    }),
  ],
  ['enquire_link', '00000010 00000015 00000000 0000002a', { command: 'enquire_link', sequence: 42, status: 0 }],
  ['generic_nack', '00000010 80000000 00000003 00000001', { command: 'generic_nack', sequence: 1, status: 3 }],
]

for (const [name, frame, pdu] of golden) {
  test(`${name} is encoded and decoded octet for octet`, () => {
    assert.equal(encodePdu(pdu).toString('hex'), hex(frame).toString('hex'))
    assert.deepEqual(decoded(hex(frame)), pdu)
  })
}

const plain = <T extends object>(fields: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> =>
  fc.record<T>(fields, { noNullPrototype: true })
const text = (size: number) => fc.string({ maxLength: size - 1, unit: fc.constantFrom(...'aZ09-_.é') })
const byte = fc.nat(255)
const octets = (most: number, least = 0) =>
  fc.uint8Array({ minLength: least, maxLength: most, size: 'max' }).map((array) => Buffer.from(array))
const address = (size: number): fc.Arbitrary<Address> => plain({ ton: byte, npi: byte, address: text(size) })
const tlvs = fc.array(fc.tuple(fc.nat(0xffff), octets(300)), { maxLength: 4 }).map((pairs) => new Map(pairs))
const head = { sequence: fc.integer({ min: 1, max: 0x7fffffff }), status: fc.nat(0xffff) }
const short = {
  serviceType: text(6),
  source: address(21),
  destination: address(21),
  esmClass: byte,
  registered: byte,
  dataCoding: byte,
}
const pdus: fc.Arbitrary<Pdu> = fc.oneof(
  plain({
    ...head,
    ...short,
    command: fc.constantFrom('submit_sm', 'deliver_sm'),
    protocolId: byte,
    priority: byte,
    schedule: text(17),
    validity: text(17),
    replaceIfPresent: byte,
    defaultMessageId: byte,
    shortMessage: octets(254),
    tlvs,
  }),
  plain({ ...head, ...short, command: fc.constant('data_sm'), tlvs }),
  plain({
    ...head,
    command: fc.constantFrom('submit_sm_resp', 'deliver_sm_resp', 'data_sm_resp'),
    messageId: text(65),
    tlvs,
  }),
  plain({
    ...head,
    command: fc.constantFrom('bind_receiver', 'bind_transmitter', 'bind_transceiver'),
    systemId: text(16),
    password: text(9),
    systemType: text(13),
    version: byte,
    range: address(41),
  }),
  plain({
    ...head,
    command: fc.constantFrom('bind_receiver_resp', 'bind_transmitter_resp', 'bind_transceiver_resp'),
    systemId: text(16),
    tlvs,
  }),
  plain({
    ...head,
    command: fc.constantFrom('unbind', 'unbind_resp', 'enquire_link_resp', 'cancel_sm_resp', 'replace_sm_resp'),
  }),
  plain({ ...head, command: fc.constant('query_sm'), messageId: text(65), source: address(21) }),
  plain({
    ...head,
    command: fc.constant('query_sm_resp'),
    messageId: text(65),
    finalDate: text(17),
    state: byte,
    error: byte,
  }),
  plain({
    ...head,
    command: fc.constant('cancel_sm'),
    serviceType: text(6),
    messageId: text(65),
    source: address(21),
    destination: address(21),
  }),
  plain({
    ...head,
    command: fc.constant('replace_sm'),
    messageId: text(65),
    source: address(21),
    schedule: text(17),
    validity: text(17),
    registered: byte,
    defaultMessageId: byte,
    shortMessage: octets(254),
  }),
  plain({ ...head, command: fc.constant('outbind'), systemId: text(16), password: text(9) }),
  plain({ ...head, command: fc.constant('alert_notification'), source: address(65), esme: address(65), tlvs }),
)

test('every PDU decodes to what was encoded', () => {
  fc.assert(
    fc.property(pdus, (pdu) => {
      const frame = encodePdu(pdu)
      assert.equal(frame.readUInt32BE(0), frame.length)
      assert.deepEqual(decoded(frame), pdu)
    }),
    { numRuns: 2_000 },
  )
})

test('no input makes the decoder throw or read beyond the frame', () => {
  const mutated = fc
    .tuple(pdus, fc.array(fc.tuple(fc.nat(300), byte), { maxLength: 6 }), fc.nat(300))
    .map(([pdu, changes, cut]) => {
      const frame = encodePdu(pdu)
      for (const [at, value] of changes) if (at < frame.length) frame[at] = value
      return frame.subarray(0, Math.max(16, frame.length - cut))
    })
  fc.assert(
    fc.property(fc.oneof(mutated, octets(400, 16)), (frame) => {
      const pdu = decodePdu(frame)
      if (isMalformed(pdu)) assert.ok(pdu.fault > 0)
      else if (pdu.command === 'deliver_sm' || pdu.command === 'submit_sm' || pdu.command === 'data_sm') {
        readUserData(pdu)
        readReceipt(pdu)
      } else encodePdu(pdu)
    }),
    { numRuns: process.env.TRUNKLINE_TEST_LONG ? 500_000 : randomInputs(5_000) },
  )
})

test('a short message over 254 octets is sent as message_payload', () => {
  const pdu = decoded(encodePdu(message({ shortMessage: Buffer.alloc(300, 'a') })))
  assert.ok(pdu.command === 'submit_sm')
  assert.equal(pdu.shortMessage.length, 0)
  assert.equal(readUserData(pdu).text, 'a'.repeat(300))
})

const malformed: [name: string, frame: Buffer, fault: number][] = [
  ['an unknown command', hex('00000010 00000042 00000000 00000001'), statuses.ESME_RINVCMDID],
  ['an empty body', hex('00000010 00000004 00000000 00000001'), statuses.ESME_RINVMSGLEN],
  [
    'sm_length beyond the PDU',
    encodePdu(message({ shortMessage: Buffer.alloc(0) })).fill(99, 55),
    statuses.ESME_RINVMSGLEN,
  ],
  ['a string without its NUL', Buffer.concat([hex('00000014 00000003 00000000 00000001'), Buffer.from('abcd')]), 1],
  ['a string beyond its size', encodePdu(message({ serviceType: 'toolong' })), statuses.ESME_RINVMSGLEN],
  [
    'an optional parameter that overruns',
    Buffer.concat([encodePdu(message()), hex('0424 0005 6162')]),
    statuses.ESME_RINVPARLEN,
  ],
  [
    'an optional parameter cut short',
    Buffer.concat([encodePdu(message()), hex('0424 00')]),
    statuses.ESME_RINVOPTPARSTREAM,
  ],
]

for (const [name, frame, fault] of malformed) {
  test(`${name} is detected, with the status that answers it`, () => {
    const bad = decodePdu(frame)
    assert.ok(isMalformed(bad))
    assert.equal(bad.fault, fault)
  })
}

test('a response is read even when its NUL is missing or octets follow it', () => {
  const bare = decoded(hex('00000013 80000004 00000000 00000007 616263'))
  assert.ok(bare.command === 'submit_sm_resp' && bare.messageId === 'abc')
  const more = decoded(hex('00000016 80000004 00000000 00000007 616263 00 ffff'))
  assert.ok(more.command === 'submit_sm_resp' && more.messageId === 'abc')
})

test('frames come out whole however the stream is chunked', () => {
  fc.assert(
    fc.property(
      fc.array(pdus, { maxLength: 8 }),
      fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }),
      (sent, cuts) => {
        const stream = Buffer.concat(sent.map(encodePdu))
        const got: Pdu[] = []
        const frames = new PduFramer((frame) => got.push(decoded(frame)))
        for (let at = 0, i = 0; at < stream.length; i++) {
          const size = cuts[i % cuts.length] ?? 1
          assert.ok(frames.push(stream.subarray(at, at + size)))
          at += size
        }
        assert.deepEqual(got, sent)
      },
    ),
    { numRuns: 300 },
  )
})

for (const length of [0, 4, 15, 65_537, 0x47455420, 0xffffffff]) {
  test(`a command_length of ${length} ends the framing, in one chunk or octet by octet`, () => {
    const header = Buffer.alloc(16)
    header.writeUInt32BE(length)
    const none = () => assert.fail('a frame came out')
    assert.equal(new PduFramer(none).push(header), false)
    const slow = new PduFramer(none)
    assert.ok([...header].some((octet) => !slow.push(Buffer.from([octet]))))
  })
}

test('every character of GSM 7-bit and every UCS-2 text survives encoding', () => {
  const gsm = '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ ¡Ñ§¿äöñüà^{}\\[~]|€\f'
  assert.equal(decodeText(encodeText(gsm, 'gsm7'), 0), gsm)
  assert.equal(encodeText('@€', 'gsm7').toString('hex'), '001b65')
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (any) => {
      // Text that begins with a byte-order mark loses it.
      fc.pre(!/^(?:[\ufeff\ufffe]|\uefbb[\ubf00-\ubfff])/.test(any))
      assert.equal(decodeText(encodeText(any, 'ucs2'), 8), any)
    }),
  )
})

test('IA5, Latin-1 and the message classes of 23.038 are decoded by their data coding', () => {
  assert.equal(decodeText(Buffer.from('A@_'), 1), 'A@_')
  assert.equal(decodeText(Buffer.from([0xe9]), 3), 'é')
  assert.equal(decodeText(Buffer.from([0x00]), 0x10), '@')
  assert.equal(decodeText(Buffer.from([0x04, 0x1f]), 0x18), 'П')
  assert.equal(decodeText(Buffer.from([0x00]), 0xf1), '@')
  assert.equal(decodeText(Buffer.from([0xe9]), 0xf5), 'é')
})

test('each coding has the alphabet of SMPP 3.4, 5.2.19 or of the groups of 3GPP TS 23.038, section 4', () => {
  // @ in the default alphabet, NUL in Latin-1; in UCS-2 together U+0030.
  const octets = Buffer.from([0x00, 0x30])
  const read = new Map([
    ['@0', 'gsm7'],
    ['\u00000', 'octets'],
    ['0', 'ucs2'],
  ])
  const general = ['gsm7', 'octets', 'ucs2', 'gsm7']
  const charsets = [0x05, 0x06, 0x07, 0x0a, 0x0d, 0x0e]
  const bySmpp = [[0x00, 'gsm7'] as const, ...[1, 2, 3, 4, 9].map((coding) => [coding, 'octets'] as const)]
  const smpp = new Map<number, string>([...bySmpp, [0x08, 'ucs2'], [0x0b, 'ucs2'], [0x0c, 'gsm7'], [0x0f, 'gsm7']])
  for (let coding = 0; coding < 256; coding++) {
    if (charsets.includes(coding)) continue
    const byGroup =
      coding < 0x80
        ? general[(coding >> 2) & 3]
        : coding < 0xe0
          ? 'gsm7'
          : coding < 0xf0
            ? 'ucs2'
            : coding & 4
              ? 'octets'
              : 'gsm7'
    assert.equal(read.get(decodeText(octets, coding)), smpp.get(coding) ?? byGroup, `data_coding ${coding}`)
  }
})

test('a byte-order mark rules over the coding, in parts that have one each too', () => {
  const little = (text: string) => Buffer.from(text, 'utf16le')
  const big = (text: string) => little(text).swap16()
  assert.equal(decodeText(little('\ufeffaЖ'), 8), 'aЖ')
  assert.equal(decodeText(big('\ufeffaЖ'), 0), 'aЖ')
  assert.equal(decodeText(Buffer.from('\ufeffaЖ'), 3), 'aЖ')
  // Octets of a named charset are its characters.
  assert.equal(decodeText(Buffer.from([0xff, 0xfe]), 6), 'џў')
  const joined = (...octets: Buffer[]) => decodeParts(octets.map((one, i) => ({ octets: one, coding: 8, part: i + 1 })))
  assert.equal(joined(little('\ufeffab'), little('cd')), 'abcd')
  assert.equal(joined(little('\ufeffab'), little('\ufeffcd')), 'abcd')
  assert.equal(joined(big('ab'), big('\ufeffcd'), little('\ufeffef')), 'abcdef')
  assert.equal(joined(big('a').subarray(0, 1), Buffer.concat([big('a').subarray(1), big('\ufeff')])), 'a\ufeff')
})

const concat = { reference: 0xab, part: 2, parts: 3 }

test('concatenation is read from 8-bit and 16-bit headers and from the SAR parameters', () => {
  const body = Buffer.from('part two')
  const by = (header: Buffer) => readText(message({ esmClass: 0x40, shortMessage: Buffer.concat([header, body]) }))
  assert.deepEqual(by(concat8(concat)), { text: 'part two', concat })
  const wide = { ...concat, reference: 0xabcd }
  assert.deepEqual(by(concat16(wide)), { text: 'part two', concat: wide })
  const sar = message({ shortMessage: body, tlvs: new Map(sarTlvs(wide)) })
  assert.deepEqual(readText(sar), { text: 'part two', concat: wide })
})

test('a header with other elements yields its concatenation, and an invalid one yields the text alone', () => {
  const by = (header: string) =>
    readText(message({ esmClass: 0x40, shortMessage: Buffer.concat([hex(header), Buffer.from('x')]) }))
  assert.deepEqual(by('08 2401 01 0003ab0302'), { text: 'x', concat })
  assert.deepEqual(by('05 0003ab0304'), { text: 'x', concat: null })
  assert.deepEqual(by('05 00ffab0302'), { text: 'x', concat: null })
  assert.equal(by('7f 0003ab0302').text.length, 7)
})

const receipt = (shortMessage: string, parameters: [number, Buffer][] = []) =>
  message({ command: 'deliver_sm', esmClass: 4, shortMessage: Buffer.from(shortMessage), tlvs: new Map(parameters) })

test('a receipt is read from its parameters first and its text second', () => {
  const spoken = 'id:0123 sub:001 dlvrd:000 submit date:2611210640 done date:2611210641 stat:UNDELIV err:027 text:hi'
  assert.deepEqual(readReceipt(receipt(spoken)), { carrierId: '0123', state: 'UNDELIVERABLE', error: '027' })
  const both = receipt(spoken, [
    [tags.receipted_message_id, Buffer.from('7b\0')],
    [tags.message_state, Buffer.from([2])],
  ])
  assert.deepEqual(readReceipt(both), { carrierId: '7b', state: 'DELIVERED', error: '027' })
  const coded = receipt('', [
    [tags.receipted_message_id, Buffer.from('7b')],
    [tags.message_state, Buffer.from([8])],
    [tags.network_error_code, Buffer.from([3, 0, 34])],
  ])
  assert.deepEqual(readReceipt(coded), { carrierId: '7b', state: 'REJECTED', error: '34' })
})

test('a receipt text with other spacing, other case and missing fields is still read', () => {
  assert.deepEqual(readReceipt(receipt('ID: a-1 STAT: delivered ERR: 000')), {
    carrierId: 'a-1',
    state: 'DELIVERED',
    error: null,
  })
  for (const odd of ['id:9 stat:', 'id:9 stat: err:000', 'id:9 stat:DELIVERY_FAILED', 'id:9 stat:99', 'id:9'])
    assert.equal(readReceipt(receipt(odd))?.state, null, odd)
  assert.equal(readReceipt(receipt('id:9 stat:UNKNOWN'))?.state, 'UNKNOWN')
  assert.equal(readReceipt(receipt('id: sub:001 stat:DELIVRD')), null)
  assert.equal(readReceipt(receipt('')), null)
})

test('a receipt in any state reads back as it was written', () => {
  const states = [
    'ENROUTE',
    'DELIVERED',
    'EXPIRED',
    'DELETED',
    'UNDELIVERABLE',
    'ACCEPTED',
    'UNKNOWN',
    'REJECTED',
  ] as const
  for (const state of states) {
    const sent = { carrierId: 'c1', state, error: state === 'DELIVERED' ? null : '001' }
    const pdu = receipt(receiptText(sent, new Date(0), new Date(0), 'text: id:zz stat:XX'))
    assert.ok(isReceipt(pdu))
    assert.deepEqual(readReceipt(pdu), sent)
  }
})
