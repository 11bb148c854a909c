import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, type TestContext, test } from 'node:test'
import { needs } from '../../../test/needs.ts'
import { startedHome, startPlatform } from '../../../test/platform.ts'
import { temporaryFolder } from '../../../test/servers.ts'
import { makeNotifySystemd } from './systemd.ts'

/** Datagram socket like that of systemd, in Perl, which every Debian has. Prints each state on a line. */
const receiver = `
  use IO::Socket::UNIX; use Socket; $| = 1;
  my $socket = IO::Socket::UNIX->new(Local => $ARGV[0], Type => SOCK_DGRAM) or die "$ARGV[0]: $!";
  print "listening\\n";
  while (defined $socket->recv(my $text, 4096)) { print "$_\\n" for grep { !/^BARRIER=/ } split /\\n/, $text }`

/** Starts the receiver and returns its socket. */
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

/** Returns the environments of a process's children. */
const environmentsBelow = (pid: number): string[] =>
  readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8')
      .split(' ')
      .filter((child) => child !== '')
      .map((child) => readFileSync(`/proc/${child}/environ`, 'utf8')),
  )

describe('a unit with Type=notify', needs('systemd-notify'), () => {
  test('READY=1 follows a 200 of /readyz, STOPPING=1 precedes the exit, and children inherit no socket', async (t) => {
    const systemd = await listen(t)
    const home = startedHome()
    const starting = startPlatform(home, { NOTIFY_SOCKET: systemd.socket })
    t.after(async () => (await starting).end('SIGKILL'))
    assert.equal(await systemd.next(), 'READY=1')
    const { url } = JSON.parse(readFileSync(join(home, 'ready.json'), 'utf8'))
    assert.equal((await fetch(`${url}/readyz`)).status, 200)
    const platform = await starting
    const environments = environmentsBelow(platform.pid)
    assert.ok(environments.length >= 2, 'expected the database and the carriers as children')
    assert.deepEqual(
      environments.filter((one) => one.includes('NOTIFY_SOCKET=')),
      [],
    )
    assert.equal(await platform.end(), 0)
    assert.equal(await systemd.next(), 'STOPPING=1')
    assert.deepEqual(systemd.received, [])
    assert.doesNotMatch(platform.output(), /systemd:/)
  })

  test('a failed start sends no READY=1', async (t) => {
    const systemd = await listen(t)
    const env = { NOTIFY_SOCKET: systemd.socket, DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' }
    await assert.rejects(startPlatform(temporaryFolder(), env))
    assert.equal(await systemd.next(), 'STOPPING=1')
  })

  test('a notify socket without a reader is reported and does not stop the server', async () => {
    const said: string[] = []
    const environment = { PATH: process.env.PATH, NOTIFY_SOCKET: join(temporaryFolder(), 'none') }
    await makeNotifySystemd(environment, (text) => said.push(text))('READY=1')
    assert.match(said.join(), /^systemd: failed to notify READY=1/)
  })
})

test('a missing systemd-notify is reported and does not stop the server', async () => {
  const said: string[] = []
  const environment = { PATH: '/nonexistent', NOTIFY_SOCKET: '/nonexistent/notify' }
  await makeNotifySystemd(environment, (text) => said.push(text))('READY=1')
  assert.match(said.join(), /^systemd: failed to notify READY=1 \(.*ENOENT.*\)/)
})

test('makeNotifySystemd starts no program without NOTIFY_SOCKET', async () => {
  const said: string[] = []
  await makeNotifySystemd({ PATH: '/nonexistent' }, (text) => said.push(text))('READY=1')
  assert.deepEqual(said, [])
})
