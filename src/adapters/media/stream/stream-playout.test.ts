import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silence } from '@trunkline/rtp/g711.ts'
import { StreamPlayout } from './stream-playout.ts'

const quiet = Buffer.alloc(160, silence.pcmu)

/** Octets without silence: 0 to 126 again and again. */
const octetsOf = (length: number, from = 0): Buffer => Buffer.from(Array.from({ length }, (_, i) => (from + i) % 127))

const open = () => {
  const reached: string[] = []
  const playout = new StreamPlayout((name) => reached.push(name))
  const read = (count: number) => Buffer.concat(Array.from({ length: count }, () => playout.read()))
  return { playout, reached, read }
}

test('60 s of audio in one chunk are read in order without a gap, then silence', () => {
  const { playout, read } = open()
  const octets = octetsOf(480_000)
  assert.equal(playout.push(octets), 0)
  assert.equal(playout.waitingMs, 60_000)
  assert.ok(read(3_000).equals(octets))
  assert.ok(read(1).equals(quiet))
})

test('chunks of any length join to frames without a gap', () => {
  const { playout, read } = open()
  const octets = octetsOf(16_000)
  for (let from = 0, length = 1; from < octets.length; from += length++)
    playout.push(octets.subarray(from, from + length))
  assert.ok(read(100).equals(octets))
})

test('300 s wait at most; what is more is dropped and counted', () => {
  const { playout, read } = open()
  assert.equal(playout.push(octetsOf(2_400_000 - 10)), 0)
  assert.equal(playout.push(octetsOf(160)), 150)
  assert.equal(playout.push(octetsOf(160)), 160)
  read(1)
  assert.equal(playout.push(octetsOf(200)), 40)
})

test('a mark is reported with the last frame before it, and a part of a frame before it is played at once', () => {
  const { playout, reached, read } = open()
  playout.push(octetsOf(200))
  assert.ok(playout.mark('end') && playout.mark('end too'))
  playout.push(octetsOf(160, 50))
  playout.mark('last')
  read(1)
  assert.deepEqual(reached, [])
  assert.ok(read(1).equals(Buffer.concat([octetsOf(40, 160), quiet.subarray(40)])))
  assert.deepEqual(reached, ['end', 'end too'])
  assert.ok(read(1).equals(octetsOf(160, 50)))
  assert.deepEqual(reached, ['end', 'end too', 'last'])
})

test('a mark without audio before it is reported at once', () => {
  const { playout, reached, read } = open()
  playout.mark('first')
  assert.deepEqual(reached, ['first'])
  playout.push(octetsOf(160))
  read(1)
  playout.mark('second')
  assert.deepEqual(reached, ['first', 'second'])
})

test('clear drops the audio and reports its marks at once; later audio is played', () => {
  const { playout, reached, read } = open()
  playout.push(octetsOf(1_000))
  playout.mark('one')
  playout.push(octetsOf(1_000))
  playout.mark('two')
  read(2)
  playout.clear()
  assert.deepEqual(reached, ['one', 'two'])
  assert.equal(playout.waitingMs, 0)
  assert.ok(read(2).equals(Buffer.concat([quiet, quiet])))
  playout.push(octetsOf(160, 7))
  assert.ok(read(1).equals(octetsOf(160, 7)))
})

test('a part of a frame waits two ticks for the rest, and is played after that', () => {
  const { playout, read } = open()
  playout.push(octetsOf(100))
  assert.ok(read(2).equals(Buffer.concat([quiet, quiet])))
  assert.ok(read(1).equals(Buffer.concat([octetsOf(100), quiet.subarray(100)])))
  playout.push(octetsOf(100))
  read(1)
  playout.push(octetsOf(60, 100))
  assert.ok(read(1).equals(octetsOf(160)))
})

test('1,000 marks wait at most; those that were reached do not count', () => {
  const { playout, reached, read } = open()
  for (const times of [1, 2]) {
    playout.push(octetsOf(160))
    for (let i = 0; i < 1_000; i++) assert.ok(playout.mark(String(i)))
    assert.equal(playout.mark('one more'), false)
    read(1)
    assert.equal(reached.length, times * 1_000)
  }
})
