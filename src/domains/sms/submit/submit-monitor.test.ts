import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import pino from 'pino'
import { until } from '../../../../test/platform.ts'
import { giveNumber, makeSmsWorld, withSmscs } from '../sms-testing.ts'

type Line = { level: number; msg: string; connection?: string; status?: string; command?: string }

const lines: Line[] = []
const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
const world = await makeSmsWorld({ log })
const { call, connect, inspect, parts, waitForStatus, send, tenant } = world
after(world.stop)

const throttled = 0x58

test(
  'a throttling carrier shows at once in attempts, log, connection state and metrics',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    let isThrottling = true
    smsc.react = () => (isThrottling ? throttled : 'take')
    const connection = await connect('busy', smsc)
    const who = await tenant()
    const { number } = await giveNumber(world, who)
    const secret = 'the text of this message'
    const { body } = await send(who, number, secret)
    const { attempts, message } = await until(async () => {
      const seen = await inspect(body.message_uuid)
      return seen.attempts.length > 0 ? seen : null
    })
    assert.equal(message.status, 'queued')
    assert.deepEqual(
      [attempts[0].connection_uuid, attempts[0].outcome, attempts[0].reason],
      [connection, 'retry', 'ESME_RTHROTTLED'],
    )
    const { state } = (await call('operator', 'GET', `/operator/connections/${connection}`)).body.connection
    assert.deepEqual([state.state, state.last_error], ['bound', 'submit refused: ESME_RTHROTTLED'])
    const warnings = lines.filter(({ msg }) => msg === 'smpp: submit refused')
    assert.deepEqual(
      warnings.map(({ level, connection: name, status }) => [level, name, status]),
      [[40, 'busy', 'ESME_RTHROTTLED']],
    )
    isThrottling = false
    await waitForStatus(who, body.message_uuid, 'sent')
    const metrics = await parts.metrics.registry.metrics()
    assert.match(metrics, /trunkline_smpp_submits_total\{connection="busy",status="ESME_RTHROTTLED"\} [1-9]/)
    assert.match(metrics, /trunkline_smpp_submits_total\{connection="busy",status="ESME_ROK"\} 1\n/)
    assert.match(metrics, /trunkline_smpp_submit_duration_seconds_count\{connection="busy"\} [2-9]/)
    assert.match(metrics, /trunkline_smpp_up\{connection="busy"\} 1\n/)
    assert.match(metrics, /trunkline_smpp_in_flight\{connection="busy"\} 0\n/)
    assert.match(metrics, /trunkline_smpp_window\{connection="busy"\} [1-9]/)
    const trace = lines.filter(({ msg }) => msg === 'smpp: pdu')
    for (const command of ['bind_transceiver', 'submit_sm', 'submit_sm_resp'])
      assert.ok(
        trace.some((line) => line.command === command && line.level === 20),
        command,
      )
    const written = JSON.stringify(lines)
    for (const hidden of [secret, Buffer.from(secret).toString('hex'), number.slice(1), 'password'])
      assert.ok(!written.includes(hidden), hidden)
  }),
)

test(
  'unknown statuses share one label, and a lost bind is logged as a warning',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    smsc.react = (_submit, count) => 0x400 + count
    const connection = await connect('odd', smsc)
    const who = await tenant()
    const { number } = await giveNumber(world, who)
    for (const text of ['one', 'two'])
      await waitForStatus(who, (await send(who, number, text)).body.message_uuid, 'failed')
    const metrics = await parts.metrics.registry.metrics()
    assert.match(metrics, /trunkline_smpp_submits_total\{connection="odd",status="other"\} 2\n/)
    smsc.cut()
    await until(async () => lines.some((line) => line.msg === 'smpp: down' && line.connection === 'odd'))
    assert.ok(lines.every(({ msg, level }) => msg !== 'smpp: down' || level === 40))
    assert.ok(connection)
  }),
)
