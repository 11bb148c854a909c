import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { connect } from 'node:tls'
import { answer, closedAfter, dial, fromBrowser } from '../src/adapters/sip-gateway/testing.ts'
import { openVoicePlatform, usersOf } from '../src/domains/calls/call-testing.ts'
import { certificate } from './certificate.ts'
import { inheritedEnvironment, preloadFlag } from './child.ts'
import { freePort } from './counterparts/program.ts'
import { makeSoftphone } from './media/softphone.ts'
import { makeTelephone } from './media/telephone.ts'
import { fullForm, isFullForm, needs } from './needs.ts'
import { buyNumber, type Platform, startedHome, startPlatform, until } from './platform.ts'
import { freePortSettings } from './voice/voice-fixture.ts'

// SIGHUP reads the log level and the certificate again.

let platform: Platform
let sipTlsPort: number
const home = startedHome()
const [certFile, keyFile] = [join(home, 'cert.pem'), join(home, 'key.pem')]

/** Replaces both files. */
const install = ({ cert, key }: { cert: string; key: string }): string => {
  for (const [path, text] of [
    [keyFile, key],
    [certFile, cert],
  ] as const) {
    writeFileSync(`${path}.next`, text)
    renameSync(`${path}.next`, path)
  }
  return new X509Certificate(cert).fingerprint256
}

/** The fingerprint of the certificate that a new connection to a port meets. */
const servedAt = async (port: number): Promise<string> => {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false })
  try {
    await once(socket, 'secureConnect')
    return socket.getPeerX509Certificate()?.fingerprint256 ?? ''
  } finally {
    socket.destroy()
  }
}
const httpsPort = () => Number(new URL(platform.url).port)

type Line = { level: string; msg: string; time: string; instance: string; role: string; request_id?: string }
const lines = (): Line[] =>
  platform
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))
const logged = (msg: string) => lines().filter((line) => line.msg === msg)

/** Sends SIGHUP and waits for its line. */
const hangUp = async (msg: string): Promise<Line> => {
  const count = logged(msg).length
  process.kill(platform.pid, 'SIGHUP')
  return await until(async () => logged(msg)[count])
}

const verification = process.env.NODE_TLS_REJECT_UNAUTHORIZED
before(async () => {
  // The certificates of this file have no authority.
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  install(certificate())
  sipTlsPort = await freePort()
  platform = await startPlatform(home, {
    ...freePortSettings,
    TRUNKLINE_SANDBOX: 'true',
    TRUNKLINE_TLS_CERT: certFile,
    TRUNKLINE_TLS_KEY: keyFile,
    TRUNKLINE_SIP_TLS_PORT: String(sipTlsPort),
  })
})
after(async () => {
  if (verification === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
  else process.env.NODE_TLS_REJECT_UNAUTHORIZED = verification
  await platform?.end('SIGKILL')
})

test('a renewed certificate is served after SIGHUP, while a call and its WebSocket go on; a bad file changes nothing', async (t) => {
  const own = { ...platform }
  await buyNumber(own)
  const { carrier, browser } = await openVoicePlatform(t, own)
  const [user = ''] = await usersOf(own)
  const phone = await browser(user)
  const { dialled } = await dial(phone, fromBrowser(phone, '+447700900555'), await closedAfter(t, makeSoftphone()))
  const { ends } = await answer(await carrier.call(), await closedAfter(t, makeTelephone()))
  await until(async () => dialled.session)

  const renewed = install(certificate())
  assert.notEqual(await servedAt(httpsPort()), renewed)
  await hangUp('process: certificate read again')
  assert.equal(await servedAt(httpsPort()), renewed)
  assert.equal(await servedAt(sipTlsPort), renewed)

  writeFileSync(certFile, 'no certificate')
  const { level } = await hangUp('process: reading the certificate failed, the old one stays in use')
  assert.equal(level, 'error')
  assert.match(own.output(), /TRUNKLINE_TLS_CERT: \S+ holds no certificate in PEM form/)
  // The key of another certificate.
  writeFileSync(certFile, certificate().cert)
  await hangUp('process: reading the certificate failed, the old one stays in use')
  assert.equal(await servedAt(httpsPort()), renewed)
  assert.equal(await servedAt(sipTlsPort), renewed)

  const newest = async () => (await own.call('GET', '/open/voip/call-history')).body.cdrs[0]
  assert.deepEqual([(await newest()).active, ends, phone.code], [true, [], null])
  await dialled.session?.bye()
  await until(async () => (await newest()).active === false)
  assert.equal((await newest()).status, 'COMPLETED')
})

test('SIGHUP reads the log level of .env again, and keeps it if the new one is wrong', async () => {
  const settings = join(home, '.env')
  writeFileSync(settings, 'TRUNKLINE_LOG=debug\n')
  await hangUp('process: log level read again')
  const refused = await fetch(`${platform.url}/open/info`)
  await until(async () => logged('http: request').length > 0)
  const requests = logged('http: request')
  assert.ok(requests.some(({ request_id }) => request_id === refused.headers.get('x-request-id')))
  for (const { level, time, instance, role } of requests) {
    assert.equal(level, 'debug')
    assert.equal(new Date(time).toISOString(), time)
    assert.match(instance, new RegExp(`, process ${platform.pid}$`))
    assert.equal(role, 'api,worker,voice,console')
  }
  writeFileSync(settings, 'TRUNKLINE_LOG=loud\n')
  assert.equal((await hangUp('process: reading the log level failed, it stays as it is')).level, 'error')
  writeFileSync(settings, '')
  await hangUp('process: log level read again')
  const count = logged('http: request').length
  await fetch(`${platform.url}/ping`)
  assert.equal(logged('http: request').length, count)
})

test(
  'in a terminal, SIGHUP reads settings again too, and a closed terminal stops the platform in order',
  isFullForm ? needs('script') : fullForm('a further start'),
  async () => {
    const own = startedHome()
    const readyFile = join(own, 'ready.json')
    const main = join(import.meta.dirname, '../src/main.ts')
    // The program that script starts has a terminal, which closes when script is killed.
    const terminal = spawn(
      'script',
      ['--quiet', '--flush', '--command', `"${process.execPath}" "${preloadFlag}" "${main}"`, join(own, 'typescript')],
      {
        cwd: own,
        stdio: ['pipe', 'pipe', 'pipe'],
        env: {
          ...inheritedEnvironment,
          ...{ TRUNKLINE_HOME: own, TRUNKLINE_PORT: '0', TRUNKLINE_SIP_PORT: '0', TRUNKLINE_READY_FILE: readyFile },
          TERM: 'dumb',
        },
      },
    )
    let output = ''
    terminal.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
    await until(async () => existsSync(readyFile) && output.includes('is ready'))
    const { pid, url } = JSON.parse(readFileSync(readyFile, 'utf8'))
    process.kill(pid, 'SIGHUP')
    await until(async () => output.includes('log level read again'))
    assert.equal((await fetch(`${url}/healthz`)).status, 200)
    terminal.kill('SIGKILL')
    const isAlive = () => {
      try {
        return process.kill(pid, 0)
      } catch {
        return false
      }
    }
    await until(async () => !isAlive())
    // An orderly stop says so in this file, and ends with the database.
    assert.ok(!existsSync(join(own, 'postgres/18/data/postmaster.pid')))
    assert.equal(JSON.parse(readFileSync(join(own, 'holder.json'), 'utf8')).draining, true)
  },
)
