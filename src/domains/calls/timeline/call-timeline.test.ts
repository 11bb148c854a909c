import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld } from '../../../../test/world.ts'
import { uuid } from '../../../platform/lib/id.ts'
import type { VoiceTimelineEntry } from '../../../ports/voice.ts'
import { beginCall, callAnswered, callEnded } from '../ops.ts'
import { makeCallTimelines, readTimeline, summary } from './call-timeline.ts'

const world = await makeWorld()
const { db } = world

const begin = async () => {
  const { id: account } = await world.tenant()
  const id = uuid()
  await db.begin((tx) =>
    beginCall(tx, {
      ...{ account_id: account, id, callid: id, direction: 'O', user_id: null, from_number: null },
      ...{ to_number: '+447700900123', iso_country_code: 'GB', is_msgapp: false, is_trunk: true, caller_id: null },
      ...{ caller_id_used: '+441632960000', virtual_number_id: null, toll_free: false, rate: '0' },
    }),
  )
  const stories = makeCallTimelines(db)
  stories.begin(id, account)
  const tell = (...texts: string[]) =>
    stories.append(
      id,
      texts.map((text): VoiceTimelineEntry => ({ at: Date.now(), leg: null, what: 'note', text })),
    )
  const texts = async () => (await readTimeline(db, account, id)).map(({ text }) => text)
  return { stories, tell, texts, account, id }
}

test('the timeline of a current call continues after each write, in order', async () => {
  const { stories, tell, texts } = await begin()
  tell('invited')
  await stories.flush(() => false)
  await stories.flush(() => false)
  tell('rings', 'answered')
  await stories.flush(() => false)
  assert.deepEqual(await texts(), ['invited', 'rings', 'answered'])
})

test('the last entries of an ended call are written, and none after them', async () => {
  const { stories, tell, texts } = await begin()
  tell('ended')
  await stories.flush(() => true)
  await stories.flush(() => true)
  tell('late')
  await stories.flush(() => true)
  assert.deepEqual(await texts(), ['ended'])
})

test('a timeline has at most 400 entries and its end, of at most 500 characters that PostgreSQL takes', async () => {
  const { stories, tell, texts, id } = await begin()
  tell(`a\0b\ud83d${'x'.repeat(600)}`)
  await stories.flush(() => false)
  tell(...Array.from({ length: 500 }, (_, i) => String(i)))
  stories.appendEnd(id, [{ at: Date.now(), leg: null, what: 'note', text: 'ended' }])
  await stories.flush(() => false)
  const [first, ...others] = await texts()
  assert.equal(others.pop(), 'ended')
  assert.equal(first, `a\ufffdb\ufffd${'x'.repeat(496)}`)
  assert.deepEqual(
    others,
    Array.from({ length: 399 }, (_, i) => String(i)),
  )
})

test('a timeline ends with the reason in words, and with what to do', async () => {
  const who = await world.tenant()
  const ended = async (status: 'COMPLETED' | 'BUSY' | 'FAILED', reason: string) => {
    const id = uuid()
    await db.begin(async (tx) => {
      await beginCall(tx, {
        ...{ account_id: who.id, id, callid: id, direction: 'O', user_id: null, from_number: null },
        ...{ to_number: '+447700900123', iso_country_code: 'GB', is_msgapp: false, is_trunk: true, caller_id: null },
        ...{ caller_id_used: '+441632960000', virtual_number_id: null, toll_free: false, rate: '0.01' },
      })
      if (status === 'COMPLETED') await callAnswered(tx, who.id, id, null)
      await callEnded(tx, who.id, id, { status, reason })
    })
    const { timeline, outcome, next_step } = (await world.call(who, 'GET', `/open/voip/call/CDR${id}/timeline`)).body
    const whats = timeline.map(({ what }: { what: string }) => what)
    return [whats, outcome.state, outcome.error_code, outcome.text, next_step.kind]
  }
  const busy = 'The other side was busy.'
  assert.deepEqual(await ended('BUSY', '486'), [[], 'failed', '486', busy, 'call_again'])
  assert.deepEqual(await ended('FAILED', '404'), [[], 'failed', '404', 'The number does not exist.', 'check_number'])
  assert.deepEqual(await ended('COMPLETED', 'balance'), [
    ...[['charged'], 'failed', 'balance', 'The call was answered and lasted 0 s. The balance was used up.', 'top_up'],
  ])
  const long = 'The call was answered and lasted 0 s. The longest time of the call was over.'
  assert.deepEqual(await ended('COMPLETED', 'time_limit'), [['charged'], 'succeeded', 'time_limit', long, 'none'])
})

test('the measurements of a side are rounded to tenths of a millisecond', () => {
  const received = { packets: 144, bytes: 23_040, lost: 0, jitterMs: 5.024860506452751 }
  const sent = { packets: 142, bytes: 22_720, lost: null }
  const ends = { local: null, remote: null, dropped: 0, lastMediaAt: null }
  const side = { leg: 'caller', codec: 'pcmu' as const, received, sent, roundTripMs: 40.25, ...ends }
  const end = {
    how: 'completed' as const,
    status: 200,
    reason: 'Hung up',
    by: 'caller' as const,
    agoMs: 0,
    recordings: [],
  }
  const [measured] = summary({ ...end, stats: [side] })
  assert.equal(measured?.text, 'pcmu; received 144 packets, 0 lost, jitter 5 ms; sent 142 packets; round trip 40.3 ms')
})
