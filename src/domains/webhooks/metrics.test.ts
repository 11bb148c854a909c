import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld } from '../../../test/world.ts'
import { makeMetrics } from '../../platform/http/metrics.ts'
import { makeClock } from '../../platform/lib/clock.ts'
import { makeOutbound } from '../../platform/lib/outbound.ts'
import { OutboundError } from '../../platform/lib/outbound-exchange.ts'
import { attempt, type Endpoint } from './delivery/attempt.ts'
import { installWebhookMetrics } from './ops.ts'

const { db } = await makeWorld()

test('pending deliveries are counted once for all metrics of a scrape', async () => {
  let requestCount = 0
  const counting = new Proxy(db, {
    get: (target, name: keyof typeof db) => {
      if (name === 'one') requestCount++
      return target[name]
    },
  })
  const metrics = makeMetrics()
  installWebhookMetrics(metrics, counting)
  assert.match(await metrics.registry.metrics(), /trunkline_webhook_deliveries_pending 0/)
  assert.equal(requestCount, 1)
})

test('a stored error is as long as a stored excerpt', async () => {
  const hook: Endpoint = {
    account: '',
    id: '',
    url: '',
    host: '',
    eventName: 'x',
    msgappName: null,
    headers: [],
    sealedHeaders: null,
    keys: [],
  }
  const post = () => Promise.reject(new OutboundError('closed', 'x'.repeat(100_000)))
  const outbound = { ...makeOutbound({ allowPrivate: false }), post }
  const caller = { outbound, agent: 'test', timeoutMs: 10_000, clock: makeClock() }
  const delivery = { event: '0', conversation: null, tries: 0, body: '{"event":"x"}' }
  const { error } = await attempt(caller, hook, delivery, new AbortController().signal)
  assert.equal(error?.length, 1_000)
})
