import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LegTaps } from './leg-taps.ts'
import { type ClockListener, MediaClock } from './media-clock.ts'

/** A clock that a test ticks. */
class ManualClock extends MediaClock {
  readonly ticking = new Set<ClockListener>()
  override start(listener: ClockListener): void {
    this.ticking.add(listener)
  }
  override stop(listener: ClockListener): void {
    this.ticking.delete(listener)
  }
}

const packet = { payloadType: 0, marker: false, sequence: 1, timestamp: 160, ssrc: 1, payload: Buffer.alloc(160, 0x20) }

test('taps that are removed hear nothing more, and leave neither a tap nor a listener of the clock', () => {
  const clock = new ManualClock()
  const taps = new LegTaps(clock, () => {})
  const heard: string[] = []
  const say = () => {
    for (const tap of taps.said ?? []) tap('pcmu', packet, 0)
  }
  const isFree = () => taps.said === null && taps.heard === null && clock.ticking.size === 0
  const removals = [
    taps.add('said', () => void heard.push('recorder')),
    taps.add('said', () => void heard.push('other')),
    taps.add('heard', () => {}),
  ]
  taps.listen('stream', 'said', () => void heard.push('stream'))
  taps.listenForSpeech({ leastMs: 100, silenceMs: 400 })
  say()
  assert.deepEqual(heard.splice(0), ['recorder', 'other', 'stream'])
  removals[0]?.()
  say()
  assert.deepEqual(heard.splice(0), ['other'])
  taps.unlisten('stream')
  taps.listenForSpeech(null)
  for (const remove of removals) remove()
  assert.ok(isFree())
  for (const id of ['one', 'two']) taps.listen(id, 'heard', () => {})
  taps.listenForSpeech({ leastMs: 100, silenceMs: 400 })
  taps.close()
  assert.ok(isFree())
})
