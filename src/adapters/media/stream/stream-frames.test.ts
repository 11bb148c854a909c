import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectedFrame, makeFrameWriter, readFrame } from './stream-frames.ts'

const ids = { stream: 'MZ1', account: 'AC1', call: 'CA1' }

test('frames to a server have the fields that Twilio documents, with numbers as texts', () => {
  const write = makeFrameWriter({
    ids,
    tracks: ['inbound', 'outbound'],
    parameters: { name: 'A "quoted" one' },
    format: 'audio/x-mulaw;rate=8000',
  })
  assert.deepEqual(JSON.parse(connectedFrame), { event: 'connected', protocol: 'Call', version: '1.0.0' })
  assert.deepEqual(JSON.parse(write({ event: 'start' }, 1)), {
    event: 'start',
    sequenceNumber: '1',
    start: {
      streamSid: 'MZ1',
      accountSid: 'AC1',
      callSid: 'CA1',
      tracks: ['inbound', 'outbound'],
      customParameters: { name: 'A "quoted" one' },
      mediaFormat: { encoding: 'audio/x-mulaw', sampleRate: 8_000, channels: 1 },
    },
    streamSid: 'MZ1',
  })
  const media = {
    event: 'media',
    track: 'inbound',
    chunk: 2,
    timestamp: 20,
    payload: Buffer.from([255, 0, 1]),
  } as const
  assert.deepEqual(JSON.parse(write(media, 3)), {
    event: 'media',
    sequenceNumber: '3',
    media: { track: 'inbound', chunk: '2', timestamp: '20', payload: '/wAB' },
    streamSid: 'MZ1',
  })
  assert.deepEqual(JSON.parse(write({ event: 'dtmf', digit: '#' }, 4)), {
    event: 'dtmf',
    sequenceNumber: '4',
    dtmf: { track: 'inbound_track', digit: '#' },
    streamSid: 'MZ1',
  })
  assert.deepEqual(JSON.parse(write({ event: 'mark', name: 'a "b"' }, 5)), {
    event: 'mark',
    sequenceNumber: '5',
    mark: { name: 'a "b"' },
    streamSid: 'MZ1',
  })
  assert.deepEqual(JSON.parse(write({ event: 'stop' }, 6)), {
    event: 'stop',
    sequenceNumber: '6',
    stop: { accountSid: 'AC1', callSid: 'CA1' },
    streamSid: 'MZ1',
  })
})

test('media, mark and clear of a server are read', () => {
  const read = (frame: unknown) => readFrame(JSON.stringify(frame), 'MZ1')
  const of = { streamSid: 'MZ1' }
  assert.deepEqual(read({ ...of, event: 'media', media: { payload: '/wAB' } }), {
    event: 'media',
    payload: Buffer.from([255, 0, 1]),
  })
  assert.deepEqual(read({ ...of, event: 'media', media: { payload: '' } }), {
    event: 'media',
    payload: Buffer.alloc(0),
  })
  assert.deepEqual(read({ ...of, event: 'mark', mark: { name: 'end' } }), { event: 'mark', name: 'end' })
  assert.deepEqual(read({ ...of, event: 'clear', more: 1 }), { event: 'clear' })
})

test('an invalid frame of a server is answered with its fault, and never throws', () => {
  const of = { streamSid: 'MZ1' }
  const faults: readonly (readonly [unknown, RegExp])[] = [
    [null, /not a JSON object/],
    [[], /not a JSON object/],
    ['clear', /not a JSON object/],
    [{ event: 'clear' }, /another streamSid, or none/],
    [{ event: 'clear', streamSid: 'MZ2' }, /another streamSid/],
    [{ ...of, event: 'Clear' }, /unknown event/],
    [{ ...of, event: '__proto__' }, /unknown event/],
    [{ ...of, event: 'mark' }, /no name/],
    [{ ...of, event: 'mark', mark: { name: 5 } }, /no name/],
    [{ ...of, event: 'mark', mark: { name: 'a'.repeat(1_001) } }, /no name/],
    [{ ...of, event: 'media' }, /not base64/],
    [{ ...of, event: 'media', media: null }, /not base64/],
    [{ ...of, event: 'media', media: { payload: 'a-b_' } }, /not base64/],
    [{ ...of, event: 'media', media: { payload: 'AA==AA' } }, /not base64/],
    [{ ...of, event: 'media', media: { payload: 'A'.repeat(1_400_000) } }, /more than 1048576 octets/],
  ]
  for (const [frame, fault] of faults) assert.match(String(readFrame(JSON.stringify(frame), 'MZ1')), fault)
  for (const text of ['', '{', '\u0000', '{"event":"clear"']) assert.match(String(readFrame(text, 'MZ1')), /JSON/)
})
