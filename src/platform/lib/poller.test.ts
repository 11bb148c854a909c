import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { startPoller } from './poller.ts'

/** Runs a poller for some milliseconds of mocked time. @returns the times of its looks */
const looksIn = async (
  milliseconds: number,
  { isListening, dueInMs, workAt }: { isListening: boolean; dueInMs?: number; workAt?: number },
): Promise<number[]> => {
  mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 0 })
  const performanceNow = mock.method(performance, 'now', () => Date.now())
  const looks: number[] = []
  const poller = startPoller({
    fastMs: 500,
    slowMs: 3_000,
    wakeUps: { isListening: () => isListening },
    look: async () => {
      looks.push(Date.now())
      return { isBusy: Date.now() === workAt, ...(dueInMs === undefined ? {} : { dueInMs }) }
    },
    onError: (error) => assert.fail(String(error)),
  })
  for (let at = 0; at < milliseconds; at += 100) {
    for (let i = 0; i < 10; i++) await Promise.resolve()
    mock.timers.tick(100)
  }
  await poller.end()
  performanceNow.mock.restore()
  mock.timers.reset()
  return looks
}

test('a process that nothing wakes looks at the fast interval, always', async () => {
  assert.equal((await looksIn(10_000, { isListening: false })).length, 21)
})

test('an idle process that is woken looks at the slow interval, and fast after a find', async () => {
  assert.deepEqual(await looksIn(10_000, { isListening: true }), [0, 500, 1_000, 1_500, 2_000, 2_500, 6_000, 9_000])
  const found = await looksIn(12_000, { isListening: true, workAt: 6_000 })
  assert.deepEqual(found.slice(6), [6_000, 6_500, 7_000, 7_500, 8_000, 8_500, 12_000])
})

test('a slow look comes when work is due', async () => {
  const looks = await looksIn(6_000, { isListening: true, dueInMs: 700 })
  assert.deepEqual(looks.slice(5), [2_500, 3_200, 3_900, 4_600, 5_300, 6_000])
})
