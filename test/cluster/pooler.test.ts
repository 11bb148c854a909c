import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startPooler } from '../counterparts/pgbouncer.ts'
import { testDatabase } from '../database.ts'
import { longForm, needs } from '../needs.ts'
import { type Platform, startPlatform, until } from '../platform.ts'
import { makeSimulatorHome, startSimulator } from '../simulator.ts'
import { commonEnvironment, isSending, ownNumber, prepareAccount } from './installation.ts'

/** The median through the pooler, of the median without it. */
const promisedRatio = 1.3

/** Messages of an attempt, to each process. */
const messages = 200

const attempts = 3

/** Milliseconds until a message was accepted. */
const timeToAccept = async ({ call }: Platform, text: string): Promise<number> => {
  const began = performance.now()
  const { status, body } = await call('POST', '/open/sms/send', {
    from_number: ownNumber,
    to_number: '+447700900777',
    text,
  })
  assert.equal(status, 202, JSON.stringify(body))
  return performance.now() - began
}

const median = (values: number[]): number => values.sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN

const form = longForm().skip ? longForm() : needs('pgbouncer')

test('behind PgBouncer in session mode a message is accepted in at most 1.3 times the time', form, async (t) => {
  const db = await testDatabase()
  const pooled = await startPooler(t, db.url, 'session')
  const carrier = await startSimulator(t, await makeSimulatorHome(t))
  const start = async (url: string) => {
    const platform = await startPlatform(undefined, {
      ...commonEnvironment,
      DATABASE_URL: url,
      TRUNKLINE_ROLES: 'api,worker',
    })
    t.after(() => platform.end('SIGKILL'))
    return platform
  }
  const [direct, through] = [await start(db.url), await start(pooled)]
  await prepareAccount(direct, carrier, null)
  await until(() => isSending(direct))
  await until(() => isSending(through))
  const ratios: number[] = []
  for (let attempt = 0; attempt < attempts && !ratios.some((ratio) => ratio <= promisedRatio); attempt++) {
    const [times, pooledTimes]: [number[], number[]] = [[], []]
    // In turns, so that both meet the same load of the machine.
    for (let n = 0; n < messages; n++) {
      times.push(await timeToAccept(direct, `direct ${n}`))
      pooledTimes.push(await timeToAccept(through, `through the pooler ${n}`))
    }
    const [p50, pooledP50] = [median(times), median(pooledTimes)]
    ratios.push(pooledP50 / p50)
    t.diagnostic(`p50 ${p50.toFixed(2)} ms, through PgBouncer ${pooledP50.toFixed(2)} ms`)
  }
  assert.ok(Math.min(...ratios) <= promisedRatio, `${ratios}`)
})
