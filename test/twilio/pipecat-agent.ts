import assert from 'node:assert/strict'
import { samplesOf } from '@trunkline/rtp/g711.ts'
import { maxEnergyShare, toneFrames } from '../../src/adapters/media/tone-testing.ts'
import { makeStreamServer, type ServedStream } from '../media/stream-server.ts'
import { until } from '../platform.ts'
import { secondsOf } from '../voice/voice-fixture.ts'

/** Credentials of the interface in the shape of Twilio, and its address. */
type Account = { readonly sid: string; readonly token: string; readonly base: string }

/** A handset of the sandbox that has called. */
export type PipecatCaller = {
  /** The tones that it has heard. */
  tones(): Promise<readonly { readonly hertz: number; readonly seconds: number }[]>
  /** Its state at the end of the call. */
  ended(): Promise<string>
}

/** 40 ms: what pipecat's transport gives to its serializer at a time. */
const chunkFrames = 2
const chunkBytes = 160 * chunkFrames
const framesPerSecond = 50

const toneOf = (hertz: number, seconds: number): Buffer => Buffer.concat(toneFrames(hertz, seconds * framesPerSecond))

const mediaOf = ({ frames }: ServedStream) => frames.flatMap(({ media }) => media ?? [])

/** Sends audio at the pace of what is heard: a chunk for each two frames. */
const speak = (stream: ServedStream, octets: Buffer): void => {
  let [heard, at] = [0, 0]
  const take = (data: Buffer) => {
    if (JSON.parse(data.toString()).event !== 'media' || ++heard % chunkFrames !== 0) return
    stream.sendAudio(octets.subarray(at, at + chunkBytes))
    at += chunkBytes
    if (at >= octets.length) stream.socket.off('message', take)
  }
  stream.socket.on('message', take)
}

/** Sends a whole answer at once, in chunks. */
const speakAtOnce = (stream: ServedStream, octets: Buffer): void => {
  for (let at = 0; at < octets.length; at += chunkBytes) stream.sendAudio(octets.subarray(at, at + chunkBytes))
}

/** Both sides speak for some seconds: the handset its tone of 620 Hz, the agent 1,000 Hz. */
const talk = async (stream: ServedStream, caller: PipecatCaller, seconds: number): Promise<void> => {
  const first = mediaOf(stream).length
  speak(stream, toneOf(1_000, seconds))
  const last = first + seconds * framesPerSecond
  const media = await until(async () => mediaOf(stream).length >= last && mediaOf(stream), seconds + 30)
  assert.deepEqual(
    media.map(({ chunk }) => Number(chunk)),
    media.map((_, i) => i + 1),
  )
  for (let at = first; at < last; at += framesPerSecond) {
    const second = media.slice(at, at + framesPerSecond).map(({ payload }) => Buffer.from(payload, 'base64'))
    const samples = Int16Array.from(Buffer.concat(second), (octet) => samplesOf.pcmu[octet] ?? 0)
    assert.ok(maxEnergyShare(samples, 620) > 0.9, `second ${(at - first) / framesPerSecond}`)
  }
  await until(async () => secondsOf(await caller.tones(), 1_000) > seconds * 0.95)
}

/** The caller speaks into an answer of 6 s: pipecat clears what waits. */
const bargeIn = async (stream: ServedStream, caller: PipecatCaller): Promise<void> => {
  speakAtOnce(stream, toneOf(700, 6))
  await until(async () => secondsOf(await caller.tones(), 700) > 0.4)
  stream.clear()
  const cleared = stream.frames.length
  await until(async () => stream.frames.length > cleared + 25)
  speakAtOnce(stream, toneOf(1_300, 0.6))
  await until(async () => secondsOf(await caller.tones(), 1_300) > 0.3)
  const heard = secondsOf(await caller.tones(), 700)
  assert.ok(heard < 3, `${heard} s`)
}

/**
 * A voice agent that speaks as pipecat's TwilioFrameSerializer and its WebSocket transport do, by the protocol of their
 * public source: it reads `connected` and `start`, takes frames of 20 ms, sends `media` and `clear`, and ends the call
 * below the base URL.
 */
export const openPipecatAgent = async ({ sid, token, base }: Account) => {
  const server = await makeStreamServer()
  const hangUp = async (call: string): Promise<readonly [number, unknown]> => {
    const answer = await fetch(`${base}/2010-04-01/Accounts/${sid}/Calls/${call}.json`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(`${sid}:${token}`).toString('base64')}` },
      body: new URLSearchParams({ Status: 'completed' }),
    })
    return [answer.status, Object(await answer.json()).code]
  }
  return {
    url: server.url,
    close: server.close,
    /** Takes the first call. Both sides speak for some seconds; then the agent is interrupted, and hangs up. */
    takeCall: async (caller: PipecatCaller, seconds: number): Promise<void> => {
      const stream = await until(async () => server.streams[0])
      // pipecat reads two messages, and takes its ids from the second.
      const [connected, started] = await until(async () => stream.frames.length > 2 && stream.frames)
      assert.deepEqual([connected?.event, started?.event], ['connected', 'start'])
      const { streamSid, callSid } = Object(started?.start)
      assert.match(streamSid, /^MZ[0-9a-f]{32}$/)
      assert.match(callSid, /^CA[0-9a-f]{32}$/)
      assert.equal(Buffer.from(mediaOf(stream)[0]?.payload ?? '', 'base64').length, 160)
      // The caller may be silent at first.
      await until(async () => mediaOf(stream).length > framesPerSecond)
      await talk(stream, caller, seconds)
      await bargeIn(stream, caller)
      assert.deepEqual(await hangUp(callSid), [200, undefined])
      assert.equal(await caller.ended(), 'completed')
      await until(async () => stream.closed !== null)
      // It takes this, and nothing else, for a call that has ended already.
      assert.deepEqual(await hangUp(callSid), [404, 20404])
    },
  }
}
