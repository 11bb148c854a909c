import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { segment } from '@trunkline/phone/segments.ts'
import { until } from '../../../test/platform.ts'
import type { Answer } from '../../../test/world.ts'
import { uuid } from '../../platform/lib/id.ts'
import type { SmsCapabilities, SmsCarrier, SmsDeps, SmsPart, SmsShare } from '../../ports/sms.ts'
import { contact, giveNumber, makeSmsWorld, type SmsWorld } from './sms-testing.ts'

/** A text as a carrier received it. */
export type ReceivedText = {
  readonly id: string
  readonly source: string
  readonly text: string
  readonly part: number
}

/** What a carrier does with a submit. `cut`: it takes the message and breaks the connection before it answers. */
export type CarrierAnswer = 'accept' | 'busy' | 'refuse' | 'cut'

/** A carrier of a test, which speaks the protocol of one driver. */
export type CarrierHarness = {
  readonly capabilities: SmsCapabilities
  /** Everything that the carrier received, in order. */
  readonly received: readonly ReceivedText[]
  /** Answers to the next submits, in order. Afterwards the carrier accepts. */
  readonly answers: CarrierAnswer[]
  /** The driver's codes of the answers `busy` and `refuse`. */
  readonly codes: { readonly busy: string; readonly refuse: string }
  /** Connects the platform, and resolves with the bare id of the connection once it is up. */
  connect(pace: number | null): Promise<string>
  disconnect(connection: string): Promise<void>
  /** Connects the driver alone to the carrier, with a share of a connection of that pace. */
  connectShare(share: SmsShare, pace: number): SmsCarrier | Promise<SmsCarrier>
  /** The carrier reports on a message, and gets our acknowledgement. */
  report(id: string, state: 'delivered' | 'undelivered'): Promise<void>
  /** A handset writes, and the carrier gets our acknowledgement. */
  write(from: string, to: string, text: string): Promise<void>
}

type Attempt = { readonly outcome: string; readonly reason: string }

/** Tools of a driver that runs alone, and ignores what the carrier delivers. */
export const makeShareDeps = (share: SmsShare): SmsDeps => ({
  events: {
    ...{ inbound: async () => {}, receipt: async () => {}, receiptIfSent: async () => false, unparsed: async () => {} },
    changed: () => {},
  },
  share,
  mayCountFormerLinks: () => false,
  log: () => {},
  traces: false,
})

const pacedPart = (): SmsPart => ({
  ...{ message: uuid(), part: 1, parts: 1, source: '+447700100000', destination: contact },
  ...{ text: 'paced', encoding: 'gsm7', reference: 0 },
})

/** Conformance suite of the port to SMS carriers, through the whole platform: every driver must pass it. */
export const carrierSuite = async (name: string, make: (world: SmsWorld) => Promise<CarrierHarness>): Promise<void> => {
  const world = await makeSmsWorld()
  const { call, inspect, parts, send, tenant, waitForStatus } = world
  const carrier = await make(world)
  after(world.stop)

  const connected = async (run: (connection: string) => Promise<void>, pace: number | null = null) => {
    const connection = await carrier.connect(pace)
    try {
      await run(connection)
    } finally {
      await carrier.disconnect(connection)
    }
  }

  const sender = async () => {
    const who = await tenant()
    return { who, ...(await giveNumber(world, who)) }
  }

  test(
    `${name}: a message reaches the carrier, and its receipt the message`,
    { skip: !carrier.capabilities.receipts },
    () =>
      connected(async (connection) => {
        const { who, number } = await sender()
        for (const state of ['delivered', 'undelivered'] as const) {
          const printed = (await send(who, number, `to be ${state}`)).body.message_uuid
          await waitForStatus(who, printed, 'sent')
          const got = carrier.received.at(-1)
          assert.deepEqual([got?.text, got?.source], [`to be ${state}`, number])
          const { parts: stored } = await inspect(printed)
          assert.deepEqual([stored[0].connection_uuid, stored[0].carrier_id], [`CNX${connection}`, got?.id])
          await carrier.report(got?.id ?? '', state)
          await waitForStatus(who, printed, state)
        }
      }),
  )

  test(`${name}: a long text goes as the capabilities say, and is charged by its parts`, () =>
    connected(async () => {
      const { who, number } = await sender()
      const text = 'long '.repeat(70)
      const before = carrier.received.length
      const printed = (await send(who, number, text)).body.message_uuid
      const { fragments } = await waitForStatus(who, printed, 'sent')
      assert.equal(fragments, segment(text).parts.length)
      const got = carrier.received.slice(before)
      assert.equal(got.length, carrier.capabilities.texts === 'whole' ? 1 : fragments)
      assert.equal(got.map((one) => one.text).join(''), text)
      assert.deepEqual(
        got.map(({ part }) => part),
        got.map((_, i) => i + 1),
      )
    }))

  test(`${name}: a busy carrier gets the message again, and a lost answer is followed by another submit`, () =>
    connected(async (connection) => {
      const { who, number } = await sender()
      for (const [answer, outcome] of [
        ['busy', 'retry'],
        ['cut', 'unknown'],
      ] as const) {
        carrier.answers.push(answer)
        const before = carrier.received.length
        const printed = (await send(who, number, `first ${answer}`)).body.message_uuid
        await waitForStatus(who, printed, 'sent')
        assert.deepEqual(
          carrier.received.slice(before).map(({ text }) => text),
          [`first ${answer}`, `first ${answer}`],
        )
        const { attempts }: { attempts: Attempt[] } = await inspect(printed)
        assert.equal(attempts[0]?.outcome, outcome)
        if (answer === 'busy') assert.equal(attempts[0]?.reason, carrier.codes.busy)
        await until(async () => parts.carriers.state(connection)?.state === 'up')
      }
    }))

  test(`${name}: a refusal fails the message with the code of the driver, in words on the timeline, and refunds it`, () =>
    connected(async () => {
      const { who, number } = await sender()
      carrier.answers.push('refuse')
      const printed = (await send(who, number, 'to be refused')).body.message_uuid
      const { error_code } = await waitForStatus(who, printed, 'failed')
      assert.equal(error_code, carrier.codes.refuse)
      const timeline: Answer['body'] = (await call(who, 'GET', `/open/sms/message/${printed}/timeline`)).body
      assert.equal(timeline.outcome.state, 'failed')
      assert.doesNotMatch(timeline.outcome.text, /The carrier reported the code/)
      assert.equal((await call(who, 'GET', '/open/info')).body.balance.amount, '100.00')
    }))

  test(`${name}: a message of a handset reaches its number`, { skip: !carrier.capabilities.inbound }, () =>
    connected(async () => {
      const { who, number } = await sender()
      await carrier.write(contact, number, 'Hello from the handset')
      const { messages } = (await call(who, 'GET', '/open/sms/messages')).body
      assert.deepEqual(
        messages.map((one: Answer['body']) => [one.direction, one.source, one.text]),
        [['inbound', contact, 'Hello from the handset']],
      )
    }),
  )

  test(`${name}: a carrier with a pace has no capacity beyond it, and reports when it has capacity again`, () =>
    connected(async (connection) => {
      const part = pacedPart()
      const { signal } = new AbortController()
      const running = parts.carriers.up(connection)
      assert.ok(running && running.freeWindow() > 0)
      const first = running.submit(part)
      assert.equal(running.freeWindow(), 0)
      const second = await running.submit(part)
      assert.ok(second.outcome === 'retry' && !second.wasSent && second.seconds > 0, JSON.stringify(second))
      assert.equal(await parts.carriers.whenAvailable(connection, 10_000, signal), true)
      assert.equal((await first).outcome, 'accepted')
    }, 2))

  test(`${name}: a process with half of the slots of a connection submits at half of its pace`, async () => {
    const pace = 4
    const running = await carrier.connectShare({ held: 1, of: 2 }, pace)
    try {
      await until(async () => running.freeWindow() > 0)
      const first = running.submit(pacedPart())
      const second = await running.submit(pacedPart())
      assert.equal((await first).outcome, 'accepted')
      // The whole pace allows a part after a quarter of a second.
      assert.ok(second.outcome === 'retry' && second.seconds > 1 / pace, JSON.stringify(second))
    } finally {
      await running.close()
    }
  })

  test(`${name}: the state of a connection shows whether it can send`, async () => {
    const connection = await carrier.connect(null)
    assert.equal(parts.carriers.state(connection)?.state, 'up')
    assert.ok(parts.carriers.availableWindowOf(connection) > 0)
    const metrics = await parts.metrics.registry.metrics()
    assert.match(metrics, /trunkline_\w+_submits_total\{connection="conformance",status="\w+"\}/)
    await carrier.disconnect(connection)
    assert.equal(parts.carriers.up(connection), null)
  })
}
