import { setTimeout as pause } from 'node:timers/promises'
import { type Answer, startPlatform, until } from '../test/platform.ts'
import { homeWith, installed } from '../test/whatsapp-web/installed.ts'
import { connected, startWebNetwork, statusOf } from '../test/whatsapp-web/network.ts'
import { benchRun } from './bench.ts'
import { table } from './lib.ts'
import { childrenByRole, memory, prefixed, startMeter } from './usage.ts'

/**
 * Measures the memory of the platform with linked WhatsApp Web numbers, over the network of the tests.
 *
 * First the number of linked numbers grows; each has sent and received a message. Then the first number exchanges
 * messages with more and more people. The first run installs the library into a cache. Nothing is measured if it cannot
 * be installed.
 */
const run = benchRun()
const [maxChannels, maxPeople] = [run.number('channels'), run.number('people')]

const { folder, skip } = installed()

const measure = async () => {
  const network = await startWebNetwork(folder)
  const platform = await startPlatform(homeWith(folder), network.env)
  const must = async (path: string, body: object): Promise<Answer['body']> => {
    const answer = await platform.call('POST', path, body)
    if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  const { connection } = await must('/operator/connections', {
    kind: 'whatsapp-web',
    name: 'bench',
    settings: network.settings,
    shared: true,
  })

  const numberOf = (place: number) => `+4477${10_000_000 + place}`
  let people = 0
  /** Exchanges messages between a number and a new person. */
  const talk = async (number: string) => {
    const person = `+4474${10_000_008 + people++ * 10}`
    await network.control('people', { number: person })
    await must('/open/msgapp/send-message', { from_number: number, to_number: person, text: 'Hello' })
    await until(async () => (await network.control('seen', { number: person })).received.length > 0, 60)
    await network.control('write', { number: person, to: number, text: 'Hello back' })
    const thread = `/open/msgapp/messages/${number}/${person}`
    await until(async () => (await platform.call('GET', thread)).body.messages.length > 1, 60)
  }
  const link = async (number: string) => {
    await network.control('people', { number })
    const { channel } = await must('/open/msgapp/channel/create', {
      phone_number: number,
      connection: connection.uuid,
    })
    const qr = await until(async () => (await statusOf(platform, channel.uuid)).qr_code, 60)
    await network.control('scan', { number, qr })
    await connected(platform, channel.uuid)
    await talk(number)
  }

  const held: string[][] = []
  const note = async (count: number) => {
    await pause(12_000) // two rounds of health checks
    const now = memory(platform.pid)
    const before = Number(held[0]?.[2] ?? now)
    const each = made === 1 ? '' : ((now - before) / (made - 1)).toFixed(1)
    if (count === made && made > 1) run.record({ each: (now - before) / (made - 1) })
    held.push([String(made), String(count), String(now), count === made ? each : ''])
  }
  let made = 0
  for (const count of [1, 10, 100, 1_000].filter((one) => one <= maxChannels)) {
    for (; made < count; made++) await link(numberOf(made))
    await note(made)
  }
  const costOf = await startMeter({ node: [platform.pid], ...childrenByRole(platform.pid) })
  const talksBefore = people
  while (people < made + maxPeople) await Promise.all([0, 1, 2, 3].map(() => talk(numberOf(0))))
  run.record(prefixed('cost', await costOf(people - talksBefore)))
  await note(people)
  await platform.end()
  await network.stop()
  table(['linked numbers', 'people', 'memory with PostgreSQL, MB', 'per number after the first, MB'], held)
}

if (skip) console.log(skip)
else await measure()
