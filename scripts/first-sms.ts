import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Trunkline } from '@trunkline/client'
import { readOptions } from './releases/options.ts'
import { run } from './releases/releases.ts'
import { startBy } from './releases/started-platform.ts'

const help = `npm run first-sms [-- --postgres FOLDER]

Starts this checkout in an empty home, sends an SMS until its receipt, stops, starts again and finds the message. The
workflows run it on each system.

  --postgres FOLDER   with a server of its own, started by the programs of this folder: Windows has no embedded one
  --help              prints this text`

const values = readOptions(help, { postgres: { type: 'string' } })

const root = join(import.meta.dirname, '..')
const home = mkdtempSync(join(tmpdir(), 'trunkline-first-'))
const began = performance.now()
const report = (text: string) =>
  console.log(`${((performance.now() - began) / 1000).toFixed(1).padStart(6)} s  ${text}`)

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer()
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })

/** Starts a PostgreSQL server. @returns its address, and what stops it */
const startServer = async (programs: string): Promise<{ url: string; stop(): void }> => {
  const [data, secret, port] = [join(home, 'server'), join(home, 'secret'), await freePort()]
  writeFileSync(secret, 'first-sms')
  run(
    join(programs, 'initdb'),
    ['-D', data, '-U', 'postgres', '-A', 'scram-sha-256', '--pwfile', secret, '-E', 'UTF8'],
    home,
  )
  const settings = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=`
  run(join(programs, 'pg_ctl'), ['-D', data, '-l', join(home, 'server.log'), '-o', settings, '-w', 'start'], home)
  return {
    url: `postgresql://postgres:first-sms@127.0.0.1:${port}/postgres`,
    stop: () => void run(join(programs, 'pg_ctl'), ['-D', data, '-m', 'fast', '-w', 'stop'], home),
  }
}

const server = values.postgres === undefined ? null : await startServer(resolve(root, values.postgres))
const env = {
  TRUNKLINE_HOME: join(home, 'home'),
  ...(server ? { DATABASE_URL: server.url, TRUNKLINE_SANDBOX: 'true' } : {}),
}

try {
  const first = await startBy('npm start', root, env)
  report(`npm start: a platform at ${first.url}`)
  const trunkline = new Trunkline({ baseUrl: first.url, apiKey: first.key })
  const { purchased } = await trunkline.numbers.purchase({ group_id: 'GB-mobile-74-united-kingdom' })
  const [from_number = ''] = purchased
  const { message_uuid } = await trunkline.sms.send({ from_number, to_number: '+447700900123', text: 'The first SMS' })
  while ((await trunkline.sms.get({ message_uuid })).message.status !== 'delivered') await pause(100)
  report(`an SMS from ${from_number} was delivered`)
  await first.stop()
  report('stopped')
  const second = await startBy('npm start', root, env)
  try {
    const again = new Trunkline({ baseUrl: second.url, apiKey: first.key })
    const { message } = await again.sms.get({ message_uuid })
    if (message.status !== 'delivered') throw new Error(`the message is ${message.status} after the second start`)
    report('started again: the message is there')
  } finally {
    await second.stop()
  }
} finally {
  server?.stop()
  rmSync(home, { recursive: true, force: true, maxRetries: 5 })
}
