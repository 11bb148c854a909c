import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { RtpHeader, SrtcpSession, SrtpSession } from 'werift'
import { writeReport } from './rtcp.ts'
import { writeRtp } from './rtp.ts'
import { SrtpDecryptor, SrtpEncryptor } from './srtp.ts'
import { derive, KeyStream } from './srtp-keystream.ts'

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')
const master = { key: hex('e1f97a0d3e018be0d64fa32c06de4139'), salt: hex('0ec675ad498afeebb6960b3aabe6') }

test('the key stream matches RFC 3711, B.2, and session keys match B.3', () => {
  const stream = new KeyStream(hex('2b7e151628aed2a6abf7158809cf4f3c'), hex('f0f1f2f3f4f5f6f7f8f9fafbfcfd'))
  const blocks = stream.of(0, 0, 0xff02 * 16)
  const begin = 'e03ead0935c95e80e166b16dd92b4eb4 d23513162b02d0f72a43a2fe4a5f97ab 41e95b3bb0a2e8dd477901e4fca894c0'
  const end = 'ec8cdf7398607cb0f2d21675ea9ea1e4 362b7c3c6773516318a077d7fc5073ae 6a2cc3787889374fbeb4c81b17ba6c44'
  assert.deepEqual(blocks.subarray(0, 48), hex(begin))
  assert.deepEqual(blocks.subarray(-48), hex(end))
  assert.deepEqual(derive(master, 0, 16), hex('c61e7a93744f39ee10734afe3ff7a087'))
  assert.deepEqual(derive(master, 2, 14), hex('30cbbc08863d8c85d49db34a9ae1'))
  assert.deepEqual(derive(master, 1, 20), hex('cebe321f6ff7716b6fd4ab49af256a156d38baa4'))
})

const keys = () => ({ key: randomBytes(16), salt: randomBytes(14) })
const rtp = (sequence: number, payload: Buffer = randomBytes(160), ssrc = 7) =>
  writeRtp({ payloadType: 0, marker: false, sequence: sequence & 0xffff, timestamp: sequence * 160, ssrc, payload })
const opened = (opener: SrtpDecryptor, sealed: Buffer | null) => opener.decrypt(Buffer.from(sealed ?? []))

/** Pairs our implementation with werift's, which is independent. */
const counterpart = () => {
  const [ours, theirs] = [keys(), keys()]
  const config = {
    keys: {
      localMasterKey: theirs.key,
      localMasterSalt: theirs.salt,
      remoteMasterKey: ours.key,
      remoteMasterSalt: ours.salt,
    },
    profile: 1 as const,
  }
  return {
    sealer: new SrtpEncryptor(ours),
    opener: new SrtpDecryptor(theirs),
    srtp: new SrtpSession(config),
    srtcp: new SrtcpSession(config),
  }
}

test('our RTP and that of another implementation decrypt each other, at any length, beyond two wraps of the numbers', () => {
  const { sealer, opener, srtp } = counterpart()
  for (let i = 0; i < 140_000; i += i % 65_536 < 65_500 && i % 65_536 > 40 ? 97 : 1) {
    const packet = rtp(i, randomBytes(i % 300))
    assert.deepEqual(srtp.decrypt(sealer.encrypt(packet) ?? Buffer.alloc(0)), packet)
    const header = RtpHeader.deSerialize(packet)
    assert.deepEqual(opener.decrypt(srtp.encrypt(packet.subarray(header.payloadOffset), header)), packet)
  }
})

test('our RTCP and that of another implementation decrypt each other', () => {
  const { sealer, opener, srtcp } = counterpart()
  const block = { ssrc: 9, fraction: 0, lost: 0, highest: 5, jitter: 1, lastReport: 0, delay: 0 }
  for (let i = 0; i < 10; i++) {
    const report = writeReport(7, { time: 1_000 * i, timestamp: i, packets: i, octets: i }, [block], 'name')
    assert.deepEqual(srtcp.decrypt(sealer.encryptRtcp(report)), report)
    const sealed = srtcp.encrypt(report)
    const again = Buffer.from(sealed)
    assert.deepEqual(opener.decryptRtcp(sealed), report)
    assert.equal(opener.decryptRtcp(again), null)
  }
})

test('packets are decrypted once each in any order, and refused when they are older than the replay window', () => {
  const master = keys()
  const [sealer, opener] = [new SrtpEncryptor(master), new SrtpDecryptor(master)]
  const numbers = Array.from({ length: 400 }, (_, i) => 65_400 + i)
  const sealed = new Map(numbers.map((i) => [i, sealer.encrypt(rtp(i, Buffer.from(String(i))))]))
  const mixed = numbers.toSorted((a, b) => a + ((a * 7) % 31) - (b + ((b * 7) % 31)))
  for (const i of mixed)
    assert.equal(
      opened(opener, sealed.get(i) ?? null)
        ?.subarray(12)
        .toString(),
      String(i),
      `packet ${i}`,
    )
  for (const i of mixed) assert.equal(opened(opener, sealed.get(i) ?? null), null)
  const late = new SrtpDecryptor(master)
  assert.ok(opened(late, sealed.get(65_500) ?? null))
  assert.equal(opened(late, sealed.get(65_436) ?? null), null)
  assert.ok(opened(late, sealed.get(65_437) ?? null))
})

test('a modified packet is refused, and does not block the genuine packet', () => {
  const master = keys()
  const [sealer, opener] = [new SrtpEncryptor(master), new SrtpDecryptor(master)]
  for (let i = 0; i < 20; i++) {
    const sealed = sealer.encrypt(rtp(i)) ?? Buffer.alloc(0)
    for (let at = 0; at < sealed.length; at++) {
      const broken = Buffer.from(sealed)
      broken[at] = (broken[at] ?? 0) ^ (1 << (i % 8))
      assert.equal(opener.decrypt(broken), null, `octet ${at}`)
      assert.equal(opener.decrypt(sealed.subarray(0, at)), null)
    }
    assert.ok(opener.decrypt(sealed))
    const report = sealer.encryptRtcp(writeReport(7, null, [], 'name'))
    for (let at = 0; at < report.length; at++) {
      const broken = Buffer.from(report)
      broken[at] = (broken[at] ?? 0) ^ 1
      assert.equal(opener.decryptRtcp(broken), null, `octet ${at} of a report`)
      assert.equal(opener.decryptRtcp(report.subarray(0, at)), null)
    }
    assert.ok(opener.decryptRtcp(report))
  }
})

test('a sequence number is never encrypted twice, for any content', () => {
  const sealer = new SrtpEncryptor(keys())
  for (const i of [100, 101, 103, 102]) assert.ok(sealer.encrypt(rtp(i)))
  for (const i of [100, 101, 102, 103, 39]) assert.equal(sealer.encrypt(rtp(i)), null, String(i))
})

test('memory per peer is bounded: a seventeenth stream is refused', () => {
  const master = keys()
  const opener = new SrtpDecryptor(master)
  const sealed = (ssrc: number) => new SrtpEncryptor(master).encrypt(rtp(1, Buffer.alloc(4), ssrc))
  for (let ssrc = 0; ssrc < 16; ssrc++) assert.ok(opened(opener, sealed(ssrc)))
  assert.equal(opened(opener, sealed(16)), null)
  assert.equal(opened(opener, sealed(3)), null, 'the same packet again')
})
