import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { inheritedEnvironment, preloadFlag } from '../../../../test/child.ts'
import { until } from '../../../../test/platform.ts'
import { temporaryFolder } from '../../../../test/servers.ts'
import { homeWith, installed } from '../../../../test/whatsapp-web/installed.ts'
import { startWebNetwork } from '../../../../test/whatsapp-web/network.ts'

const { folder: library, skip } = installed()
const [ours, person] = ['+447700902002', '+447400180028']

test('a message that cannot be stored for a while is neither acknowledged nor lost', {
  skip,
  timeout: 240_000,
}, async (t) => {
  const network = await startWebNetwork(library)
  t.after(network.stop)
  const folder = temporaryFolder()
  const program = join(import.meta.dirname, '../../../../test/whatsapp-web/device.ts')
  const child = spawn(process.execPath, [preloadFlag, program], {
    env: {
      ...inheritedEnvironment,
      ...network.env,
      FOLDER: folder,
      HOME_FOLDER: homeWith(library),
      SETTINGS: JSON.stringify(network.settings),
      NUMBER: ours,
      // The first delivery is attempted five times, and then the network redelivers it.
      REFUSALS: '6',
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const heard: { phase?: string; qr?: string; reason?: string }[] = []
  createInterface({ input: child.stdout }).on('line', (line) => heard.push(JSON.parse(line)))
  const inbound = () => (existsSync(join(folder, 'inbound')) ? readFileSync(join(folder, 'inbound'), 'utf8') : '')

  await network.control('people', { number: ours })
  await network.control('people', { number: person })
  const qr = await until(async () => heard.find((report) => report.qr !== undefined)?.qr, 60)
  await network.control('scan', { number: ours, qr })
  await until(async () => heard.some(({ phase }) => phase === 'connected'), 60)
  for (const text of ['First', 'Second']) await network.control('write', { number: person, to: ours, text })
  await until(async () => heard.some(({ reason }) => /nothing can be kept/.test(reason ?? '')), 60)
  await until(async () => inbound().includes('First') && inbound().includes('Second'), 60)
  await until(async () => (await network.control('waiting', { number: ours })).count === 0, 60)
  // The session with the sender is intact.
  await network.control('write', { number: person, to: ours, text: 'Third' })
  await until(async () => inbound().includes('Third'), 60)
  assert.ok(heard.every(({ phase }) => phase !== 'failed'))
})
