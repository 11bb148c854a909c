import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, type TestContext, test } from 'node:test'
import { needs } from '../test/needs.ts'
import { startPlatform } from '../test/platform.ts'
import { temporaryFolder } from '../test/servers.ts'
import { makeNotifySystemd } from './systemd.ts'

/** A datagram socket as that of systemd; Perl belongs to every Debian. Prints each state on a line. */
const receiver = `
  use IO::Socket::UNIX; use Socket; $| = 1;
  my $socket = IO::Socket::UNIX->new(Local => $ARGV[0], Type => SOCK_DGRAM) or die "$ARGV[0]: $!";
  print "listening\\n";
  while (defined $socket->recv(my $text, 4096)) { print "$_\\n" for grep { !/^BARRIER=/ } split /\\n/, $text }`

/** Listens as systemd does. */
const listen = async (t: TestContext) => {
  const socket = join(temporaryFolder(), 'notify')
  const child = spawn('perl', ['-e', receiver, socket], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill())
  const lines = createInterface({ input: child.stdout })
  const received: string[] = []
  const next = async (): Promise<string> => {
    const line = received.shift()
    if (line !== undefined) return line
    await once(lines, 'received')
    return next()
  }
  lines.on('line', (line) => {
    received.push(line)
    lines.emit('received')
  })
  assert.equal(await next(), 'listening')
  return { socket, next, received }
}

/** The environments of a process's children, as far as they can be read. */
const environmentsBelow = (pid: number): string[] =>
  readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8')
      .split(' ')
      .filter((child) => child !== '')
      .map((child) => readFileSync(`/proc/${child}/environ`, 'utf8')),
  )

describe('a unit with Type=notify', needs('systemd-notify'), () => {
  test('READY=1 is sent once /readyz answers 200, STOPPING=1 before the end, and children inherit no socket', async (t) => {
    const systemd = await listen(t)
    const home = temporaryFolder()
    const starting = startPlatform(home, { NOTIFY_SOCKET: systemd.socket })
    t.after(async () => (await starting).end('SIGKILL'))
    assert.equal(await systemd.next(), 'READY=1')
    const { url } = JSON.parse(readFileSync(join(home, 'ready.json'), 'utf8'))
    assert.equal((await fetch(`${url}/readyz`)).status, 200)
    const platform = await starting
    const environments = environmentsBelow(platform.pid)
    assert.ok(environments.length >= 2, 'saw neither the database nor the carriers')
    assert.deepEqual(
      environments.filter((one) => one.includes('NOTIFY_SOCKET=')),
      [],
    )
    assert.equal(await platform.end(), 0)
    assert.equal(await systemd.next(), 'STOPPING=1')
    assert.deepEqual(systemd.received, [])
    assert.doesNotMatch(platform.output(), /systemd:/)
  })

  test('a start that fails sends no READY=1', async (t) => {
    const systemd = await listen(t)
    const env = { NOTIFY_SOCKET: systemd.socket, DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' }
    await assert.rejects(startPlatform(temporaryFolder(), env))
    assert.equal(await systemd.next(), 'STOPPING=1')
  })

  test('a socket that nobody reads is reported, and stops nothing', async () => {
    const said: string[] = []
    const environment = { PATH: process.env.PATH, NOTIFY_SOCKET: join(temporaryFolder(), 'none') }
    await makeNotifySystemd(environment, (text) => said.push(text))('READY=1')
    assert.match(said.join(), /^systemd: failed to notify READY=1/)
  })
})

test('a machine without systemd-notify reports it, and stops nothing', async () => {
  const said: string[] = []
  const environment = { PATH: '/nonexistent', NOTIFY_SOCKET: '/nonexistent/notify' }
  await makeNotifySystemd(environment, (text) => said.push(text))('READY=1')
  assert.match(said.join(), /^systemd: failed to notify READY=1 \(.*ENOENT.*\)/)
})

test('without NOTIFY_SOCKET no program is started', async () => {
  const said: string[] = []
  await makeNotifySystemd({ PATH: '/nonexistent' }, (text) => said.push(text))('READY=1')
  assert.deepEqual(said, [])
})
