import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { encodeSample, otherLaw, samplesOf, silence } from './g711.ts'
import { ntpMiddle, readReports, writeReport } from './rtcp.ts'
import { isRtcp, readRtp, writeRtp } from './rtp.ts'
import { readBinding, writeCheck, writeSuccess } from './stun.ts'

const hex = (text: string) => Buffer.from(text.replace(/\s/g, ''), 'hex')

test('G.711 decodes to the samples of the standard, and re-encoding changes nothing', () => {
  const { pcmu, pcma } = samplesOf
  assert.deepEqual([pcmu[0x00], pcmu[0x80], pcmu[0xff], pcmu[0x7f], pcmu[0x8f]], [-32_124, 32_124, 0, 0, 16_764])
  assert.deepEqual([pcma[0x55], pcma[0xd5], pcma[0x2a], pcma[0xaa], pcma[0xd4]], [-8, 8, -32_256, 32_256, 24])
  for (const law of ['pcmu', 'pcma'] as const)
    for (let octet = 0; octet < 256; octet++)
      assert.equal(samplesOf[law][encodeSample(law, samplesOf[law][octet] ?? 0)], samplesOf[law][octet])
  assert.deepEqual([samplesOf.pcmu[silence.pcmu], Math.abs(samplesOf.pcma[silence.pcma] ?? 0)], [0, 8])
})

test('transcoding to the other law and back costs at most two quantisation steps', () => {
  const all = Buffer.from(Array.from({ length: 256 }, (_, octet) => octet))
  const back = otherLaw('pcma', otherLaw('pcmu', all))
  for (let octet = 0; octet < 256; octet++) {
    const [before = 0, after = 0] = [samplesOf.pcmu[octet], samplesOf.pcmu[back[octet] ?? 0]]
    assert.ok(Math.abs(before - after) <= Math.max(16, Math.abs(before) / 15), `${before} became ${after}`)
  }
})

test('RTP is parsed with sources, extension and padding, and invalid lengths are refused', () => {
  const plain = { payloadType: 8, marker: true, sequence: 65_535, timestamp: 0xfffffff0, ssrc: 0xdeadbeef }
  const written = writeRtp({ ...plain, payload: Buffer.from('sound') })
  assert.deepEqual(readRtp(written), { ...plain, payload: Buffer.from('sound') })
  const whole = hex('b2 80 0001 00000002 00000003 0000000a 0000000b bede 0001 10203040 aabbcc 000003')
  assert.deepEqual(readRtp(whole)?.payload, hex('aabbcc'))
  assert.equal(readRtp(whole.subarray(0, 23)), null)
  assert.equal(readRtp(hex('80 00 0001 00000002')), null)
  assert.equal(isRtcp(hex('80c8')), true)
  assert.equal(isRtcp(written), false)
})

test('RTCP reports survive a round trip', () => {
  const time = Date.UTC(2026, 0, 1, 12)
  const block = { ssrc: 7, fraction: 25, lost: -3, highest: 70_000, jitter: 12, lastReport: 0x12345678, delay: 65_536 }
  const sent = { time, timestamp: 160, packets: 50, octets: 8_000 }
  const [report, ...others] = readReports(writeReport(9, sent, [block], 'name'))
  assert.deepEqual(report, { ssrc: 9, sent: { middle: ntpMiddle(time) }, blocks: [block] })
  assert.deepEqual(others, [])
  assert.deepEqual(readReports(writeReport(9, null, [], 'a')), [{ ssrc: 9, sent: null, blocks: [] }])
})

/** Test vector of RFC 5769, 2.1. */
const request = hex(`
  00010058 2112a442 b7e7a701bc34d686fa87dfae 80220010 5354554e207465737420636c69656e74 00240004 6e0001ff
  80290008 932ff9b151263b36 00060009 6576746a3a68367659202020 00080014 9aeaa70cbfd8cb56781ef2b5b2d3f249c1b571a2
  80280004 e57a3bcf`)

test('a connectivity check is parsed, and a wrong signature is detected (RFC 5769)', () => {
  const read = readBinding(request)
  assert.equal(read?.username, 'evtj:h6vY')
  assert.equal(read?.controlled, true)
  assert.equal(read?.isSigned('VOkJxbRl1RmTxUk/WvJxBt'), true)
  assert.equal(read?.isSigned('another password'), false)
  const changed = Buffer.from(request)
  changed[66] = 0
  assert.notEqual(readBinding(changed)?.isSigned('VOkJxbRl1RmTxUk/WvJxBt'), true)
})

test('our own check is parsed as a signed nomination', () => {
  const read = readBinding(writeCheck(hex('b7e7a701bc34d686fa87dfae'), 'theirs:ours', 'their password'))
  assert.deepEqual([read?.username, read?.useCandidate, read?.controlled], ['theirs:ours', true, false])
  assert.equal(read?.isSigned('their password'), true)
  assert.equal(read?.isSigned('another password'), false)
})

test('the response to a check contains the address, IPv4 or IPv6 (RFC 5769, 2.2 and 2.3)', () => {
  const transaction = hex('b7e7a701bc34d686fa87dfae')
  const four = writeSuccess(transaction, '192.0.2.1', 32_853, 'password')
  assert.deepEqual(four.subarray(20, 32), hex('00200008 0001a147 e112a643'))
  const six = writeSuccess(transaction, '2001:db8:1234:5678:11:2233:4455:6677', 32_853, 'password')
  assert.deepEqual(six.subarray(20, 44), hex('00200014 0002a147 0113a9faa5d3f179bc25f4b5bed2b9d9'))
})

test('arbitrary input is parsed or refused without an exception', () => {
  const samples = [request, writeReport(9, null, [], 'a'), writeRtp({ ...read0, payload: Buffer.alloc(20) })]
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc
      .tuple(fc.constantFrom(...samples), fc.array(fc.tuple(fc.nat(120), fc.nat(255)), { maxLength: 6 }), fc.nat(120))
      .map(([sample, changes, length]) => {
        const changed = Buffer.from(sample)
        for (const [at, value] of changes) if (at < changed.length) changed[at] = value
        return changed.subarray(0, length)
      }),
  )
  fc.assert(
    fc.property(bytes, (array) => {
      const packet = Buffer.from(array)
      readRtp(packet)
      readReports(packet)
      readBinding(packet)?.isSigned('password')
    }),
    { numRuns: 5_000 },
  )
})

const read0 = { payloadType: 0, marker: false, sequence: 1, timestamp: 1, ssrc: 1 }
