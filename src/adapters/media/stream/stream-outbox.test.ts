import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OwnFrame } from './stream-frames.ts'
import { StreamOutbox } from './stream-outbox.ts'

const media = (chunk: number, track: 'inbound' | 'outbound' = 'inbound'): OwnFrame => ({
  event: 'media',
  track,
  chunk,
  timestamp: (chunk - 1) * 20,
  payload: Buffer.alloc(160, chunk),
})

const nameOf = (frame: OwnFrame): string =>
  frame.event === 'media' ? `${frame.track} ${frame.chunk}` : 'name' in frame ? frame.name : frame.event

/** A socket that takes frames when the test says so. */
const open = (isBinary = false) => {
  const sent: (string | Buffer)[] = []
  const taken: (() => void)[] = []
  const events: string[] = []
  const pings: string[] = []
  const socket = {
    bufferedAmount: 0,
    send: (frame: string | Buffer, then: () => void) => {
      sent.push(frame)
      taken.push(then)
    },
    ping: (text: string) => pings.push(text),
  }
  const outbox = new StreamOutbox(
    socket,
    (frame, sequence) => `${sequence} ${nameOf(frame)}`,
    { isBinary, tracks: 1 },
    {
      dropped: () => events.push('dropped'),
      failed: (reason, detail) => events.push(`${reason}: ${detail}`),
    },
  )
  const stall = () => {
    socket.bufferedAmount = 8_192
  }
  const take = () => {
    socket.bufferedAmount = 0
    for (const then of taken.splice(0)) then()
  }
  return { outbox, sent, events, pings, stall, take }
}

test('frames are sent at once and in order while the server takes them', () => {
  const { outbox, sent } = open()
  outbox.push({ event: 'start' }, 0)
  outbox.push(media(1), 0)
  outbox.push({ event: 'mark', name: 'end' }, 0)
  assert.deepEqual(sent, ['1 start', '2 inbound 1', '3 end'])
  assert.equal(outbox.sent, 1)
})

test('after 2 s of audio the oldest of its track is dropped, told once, and nothing else', () => {
  const { outbox, sent, events, stall, take } = open()
  outbox.push({ event: 'start' }, 0)
  stall()
  outbox.push({ event: 'mark', name: 'kept' }, 0)
  for (let chunk = 1; chunk <= 103; chunk++) outbox.push(media(chunk), chunk * 20)
  for (let chunk = 1; chunk <= 100; chunk++) outbox.push(media(chunk, 'outbound'), 2_000)
  assert.deepEqual(sent, ['1 start'])
  assert.deepEqual(events, ['dropped'])
  assert.equal(outbox.dropped, 3)
  take()
  // Sequence numbers have no gap; numbers of frames in a track have.
  assert.deepEqual(sent.slice(1, 4), ['2 kept', '3 inbound 4', '4 inbound 5'])
  assert.equal(sent.at(-1), '202 outbound 100')
  assert.equal(outbox.sent, 200)
  outbox.push(media(104), 2_100)
  assert.equal(sent.at(-1), '203 inbound 104')
})

test('a server that takes nothing for 30 s ends the stream', () => {
  const { outbox, events, stall, take } = open()
  outbox.push({ event: 'start' }, 0)
  stall()
  outbox.push(media(1), 1_000)
  outbox.push(media(2), 31_000)
  assert.deepEqual(events, [])
  outbox.push(media(3), 31_001)
  outbox.push(media(4), 31_002)
  assert.deepEqual(events, ['broken: the server has taken nothing for 30 s'])
  take()
})

test('a server that stalls for 10 s loses the oldest 8 s, and gets the newest 2 s and what follows', () => {
  const { outbox, sent, events, stall, take } = open()
  outbox.push({ event: 'start' }, 0)
  stall()
  for (let chunk = 1; chunk <= 500; chunk++) outbox.push(media(chunk), chunk * 20)
  assert.deepEqual([sent.length, outbox.dropped, events], [1, 400, ['dropped']])
  take()
  assert.deepEqual([sent[1], sent.at(-1), outbox.sent], ['2 inbound 401', '101 inbound 500', 100])
  outbox.push(media(501), 10_020)
  assert.equal(sent.at(-1), '102 inbound 501')
  assert.deepEqual(events, ['dropped'])
})

test('1,000 marks wait at most: then the stream ends', () => {
  const { outbox, events, stall } = open()
  stall()
  for (let i = 0; i < 1_000; i++) outbox.push({ event: 'mark', name: String(i) }, 0)
  assert.deepEqual(events, [])
  outbox.push({ event: 'mark', name: 'one more' }, 0)
  assert.deepEqual(events, ['protocol: more than 1000 marks and keys wait for the server'])
})

test('at the end everything that waits is sent before the last frame, and nothing after it', () => {
  const { outbox, sent, stall, take } = open()
  stall()
  outbox.push(media(1), 0)
  outbox.finish({ event: 'stop' })
  outbox.push(media(2), 0)
  take()
  assert.deepEqual(sent, ['1 inbound 1', '2 stop'])
})

test('with binary framing audio is sent as it is', () => {
  const { outbox, sent } = open(true)
  outbox.push({ event: 'start' }, 0)
  outbox.push(media(7), 0)
  assert.deepEqual(sent, ['1 start', Buffer.alloc(160, 7)])
})

test('a server that answers pings gets at most 75 frames that it has not read, and the rest after its next pong', () => {
  const { outbox, sent, events, pings } = open()
  outbox.push({ event: 'start' }, 0)
  outbox.push(media(1), 0)
  assert.deepEqual(pings, ['1'])
  outbox.confirm('1')
  for (let chunk = 2; chunk <= 200; chunk++) outbox.push(media(chunk), chunk * 20)
  assert.deepEqual(pings, ['1', '26', '51', '76'])
  assert.equal(sent.at(-1), '77 inbound 76')
  assert.deepEqual(events, ['dropped'])
  // Old, false and early pongs confirm nothing.
  for (const text of ['0', '1', '', 'x', '1.5', '-1', '77']) outbox.confirm(text)
  assert.equal(sent.length, 77)
  outbox.confirm('76')
  assert.deepEqual(sent.slice(77, 79), ['78 inbound 101', '79 inbound 102'])
  assert.equal(outbox.sent, 76 + 75)
})

test('a server that answers no ping is bounded by the socket alone', () => {
  const { outbox, sent } = open()
  for (let chunk = 1; chunk <= 500; chunk++) outbox.push(media(chunk), chunk * 20)
  assert.equal(sent.length, 500)
})
