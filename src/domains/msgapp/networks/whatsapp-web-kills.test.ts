import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { inheritedEnvironment, preloadFlag } from '../../../../test/child.ts'
import { until } from '../../../../test/platform.ts'
import { temporaryFolder } from '../../../../test/servers.ts'
import { homeWith, installed } from '../../../../test/whatsapp-web/installed.ts'
import { startWebNetwork } from '../../../../test/whatsapp-web/network.ts'

// A process killed between any two writes of its keys: no message sent or received is lost or made unreadable. The
// test network never redelivers an acknowledged message, and encrypts nothing twice. A message that cannot be opened
// is therefore lost, and fails the test.

const { folder: library, skip } = installed()
const ours = '+447700902001'
const program = join(import.meta.dirname, '../../../../test/whatsapp-web/device.ts')

type DeviceReport = {
  phase?: string
  qr?: string
  sent?: string
  kept?: string
  outcome?: string
  inbound?: string
  reason?: string
}

test('a kill between any two writes of keys loses no message and no session', { skip, timeout: 600_000 }, async (t) => {
  const network = await startWebNetwork(library)
  t.after(network.stop)
  const [folder, home] = [temporaryFolder(), homeWith(library)]
  const env = {
    ...inheritedEnvironment,
    ...network.env,
    FOLDER: folder,
    HOME_FOLDER: home,
    SETTINGS: JSON.stringify(network.settings),
    NUMBER: ours,
  }
  const children = new Set<ChildProcess>()
  t.after(() => {
    for (const child of children) child.kill('SIGKILL')
  })
  const start = (kill: string) => {
    const child = spawn(process.execPath, [preloadFlag, program], {
      env: { ...env, KILL: kill },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    children.add(child)
    const heard: DeviceReport[] = []
    createInterface({ input: child.stdout }).on('line', (line) => heard.push(JSON.parse(line)))
    const ended = once(child, 'exit').then(() => children.delete(child))
    child.stdin.on('error', () => {})
    return {
      heard,
      isGone: () => child.exitCode !== null || child.signalCode !== null,
      find: (of: (report: DeviceReport) => boolean) => heard.find(of),
      send: (message: object) => child.stdin.write(`${JSON.stringify(message)}\n`),
      kill: async () => {
        child.kill('SIGKILL')
        await ended
      },
    }
  }
  type Device = ReturnType<typeof start>
  const isConnected = (device: Device) => device.find(({ phase }) => phase === 'connected') !== undefined
  const isSent = (device: Device, id: string) =>
    device.find((report) => report.sent === id && report.outcome === 'done') !== undefined
  const storedReports = (device: Device, name: string) => device.heard.filter((report) => report.kept === name)
  const inbound = () => (existsSync(join(folder, 'inbound')) ? readFileSync(join(folder, 'inbound'), 'utf8') : '')

  await network.control('people', { number: ours })
  const person = '+447400180018'
  await network.control('people', { number: person })
  const linking = start('')
  const qr = await until(async () => linking.find((report) => report.qr !== undefined)?.qr, 60)
  await network.control('scan', { number: ours, qr })
  await until(async () => isConnected(linking), 60)
  await linking.kill()

  const { id: group } = await network.control('group', { number: ours, to: person })
  const received = async (): Promise<string[]> =>
    (await network.control('seen', { number: person })).received.map(({ text }: { text: string }) => text)

  /**
   * Runs one round with a kill.
   * @returns whether the kill happened
   */
  const round = async (kill: string): Promise<boolean> => {
    const name = kill.replace(' ', '-')
    const messages = (when: string) =>
      [group, person].map((to, place) => ({ id: `${when}-${name}-${place}`, to, text: `${when}-${name}-${place}` }))
    const [before, later] = [messages('out'), messages('then')]
    const first = start(kill)
    await until(async () => isConnected(first) || first.isGone(), 60)
    for (const message of before) first.send(message)
    first.send({ contact: person, name })
    await network.control('write', { number: person, to: ours, text: `in-${name}` })
    const isOver = () =>
      before.every(({ id }) => isSent(first, id)) &&
      inbound().includes(`"in-${name}"`) &&
      storedReports(first, name).length > 0
    await until(async () => first.isGone() || isOver(), 60)
    const wasKilled = first.isGone()
    await first.kill()

    const again = start('')
    await until(async () => isConnected(again), 60)
    // Acknowledged messages are not redelivered. Redelivered ones are readable although known, and so are those that
    // follow.
    const rest = [...before.filter(({ id }) => !isSent(first, id)), ...later]
    for (const message of rest) again.send(message)
    await until(async () => rest.every(({ id }) => isSent(again, id)), 30).catch(() =>
      assert.fail(`${kill}: a message cannot be opened`),
    )
    await until(async () => inbound().includes(`"in-${name}"`), 30).catch(() =>
      assert.fail(`${kill}: an inbound message is lost`),
    )
    // The keys that the phone shared are stored, and its address book continues from where it was.
    let requestCount = 0
    await until(async () => {
      const answers = storedReports(again, `then-${name}`)
      if (answers.length === requestCount) {
        requestCount++
        again.send({ contact: person, name: `then-${name}` })
      }
      return answers.some(({ outcome }) => outcome === 'done')
    }, 30).catch(() => assert.fail(`${kill}: contacts cannot be stored`))
    const [known] = Object.values<{ firstName: string }>(await network.control('contacts', { number: ours }))
    assert.equal(known?.firstName, `then-${name}`)
    const texts = [...before, ...later].map(({ text }) => text).sort()
    const shown = async () => (await received()).filter((text) => texts.includes(text)).sort()
    await until(async () => (await shown()).length >= texts.length, 30).catch(() => {})
    assert.deepEqual(await shown(), texts, kill)
    await until(async () => (await network.control('waiting', { number: ours })).count === 0, 30)
    await again.kill()
    return wasKilled
  }

  const isLong = process.env.TRUNKLINE_TEST_LONG === '1'
  let kills = 0
  if (isLong)
    for (let write = 1; write <= 40; write++) {
      const killed = [await round(`before ${write}`), await round(`after ${write}`)]
      kills += killed.filter(Boolean).length
      if (!killed.some(Boolean)) break
    }
  else for (const kill of ['before 4', 'after 5', 'before 8']) kills += (await round(kill)) ? 1 : 0
  assert.ok(kills >= 2, `only ${kills} kills`)
  t.diagnostic(`${kills} kills`)
})
