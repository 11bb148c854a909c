import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { needs } from '../needs.ts'
import { bindSession, makeSimulatorHome, submitAll } from '../simulator.ts'
import { freePort, runProgram } from './program.ts'

const program = '/usr/lib/kannel/test/drive_smpp'

// Kannel's own test carrier, which we did not write: it requires a transmitter and a receiver, and answers with empty
// ids.

test(
  'a pair of binds accepts every message of drive_smpp, and its empty ids',
  needs('drive_smpp', existsSync(program)),
  async (t) => {
    const folder = await makeSimulatorHome(t)
    const port = await freePort()
    await writeFile(join(folder, 'drive.conf'), 'group = core\nadmin-port = 1\nsmsbox-port = 2\n')
    const messages = 500
    const carrier = runProgram(
      t,
      [program, '-v', '1', '-p', String(port), '-m', String(messages), '-c', 'drive.conf'],
      folder,
    )
    const platform = await bindSession(t, port, {
      bind: 'pair',
      system_id: 'foo',
      password: 'bar',
      system_type: 'VMA',
      reconnect_seconds: 0.2,
    })
    assert.deepEqual(await submitAll(platform, '+33612345678', 'Hello'), [{ outcome: 'accepted', carrierId: '' }])
    await platform.until(() => platform.inbound.length >= messages)
    await carrier.prints('All messages sent to ESME')
    assert.deepEqual(
      platform.inbound.map(({ text }) => text),
      Array.from({ length: messages }, (_, i) => String(i + 1)),
    )
  },
)
