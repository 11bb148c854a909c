import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { freeVoice } from './calls/lease.ts'
import { closeLeft } from './calls/ops.ts'
import { type Config, environment, readConfig, sandboxExposure } from './config.ts'
import { startEmbedded } from './db/embedded.ts'
import { claimHome } from './db/home.ts'
import { migrate } from './db/migrate.ts'
import { connect } from './db/sql.ts'
import { type FirstKeys, furnishChat, furnishLines, keysShown, prepare } from './first.ts'
import { enterInstallation } from './installation/ops.ts'
import { releaseLeases } from './jobs/worker.ts'
import { openSeal } from './keys/ops.ts'
import { makeWatchedLog } from './log.ts'
import { releaseNetworks } from './msgapp/networks.ts'
import { makeParts } from './parts.ts'
import { checkPorts } from './ports.ts'
import { run } from './run.ts'
import { startCarrier } from './sandbox/child.ts'
import { tellLines } from './sandbox/ops.ts'
import { makeSimulator } from './sandbox/simulator.ts'
import { makeNotifySystemd } from './systemd.ts'
import { releaseLanes } from './webhooks/ops.ts'

const drainMs = 30_000

const version = String(JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8')).version)

/** What must be ended, last first. */
const endings: { what: string; end: () => Promise<void> | void }[] = []

const say = (text: string) => process.stderr.write(`trunkline: ${text}\n`)
const notifySystemd = makeNotifySystemd(process.env, say)

const start = async () => {
  const { values: flags } = parseArgs({ options: { 'forget-secrets': { type: 'boolean', default: false } } })
  const config = readConfig(environment())
  const { log, outage } = makeWatchedLog(config.log)
  const home = resolve(config.home)

  const claim = await claimHome(home, log)
  endings.push({ what: 'home', end: claim.release })
  // After the claim: a process that is ending on this home still has the ports.
  await checkPorts(config)
  const embedded = config.databaseUrl === null ? await startEmbedded({ home, log }) : null
  if (embedded) endings.push({ what: 'database', end: embedded.stop })

  const onError = (error: Error) => log.warn({ err: error }, 'a connection to the database broke')
  const url = config.databaseUrl ?? embedded?.url ?? ''
  const patient = connect({ url, connections: 2, patient: true, onError })
  await migrate(patient, { log })
  await patient.end()
  const db = connect({ url, connections: 16, onError, outage })
  endings.push({ what: 'connections', end: db.end })
  if (embedded) {
    await releaseLeases(db)
    await releaseLanes(db)
    await releaseNetworks(db)
    await closeLeft(db)
    await freeVoice(db)
  }

  const seal = await openSeal(db, { home, given: config.masterKey, forget: flags['forget-secrets'] }, say)
  const keys = await prepare(db, config)

  const ports = { smpp: config.sandboxSmppPort, sip: config.sandboxSipPort }
  const carrier = config.sandbox ? await startCarrier(home, ports, log) : null
  if (carrier) endings.push({ what: 'sandbox', end: carrier.stop })
  const simulator = makeSimulator(() => carrier && { port: carrier.controlPort, token: carrier.token })

  const tls =
    config.tlsCert && config.tlsKey ? { cert: readFileSync(config.tlsCert), key: readFileSync(config.tlsKey) } : null
  const host = config.host.includes(':') ? `[${config.host}]` : config.host
  const addressAt = (port: number) => `${tls ? 'https' : 'http'}://${host}:${port}`
  let address = config.publicUrl ?? addressAt(config.port)
  if (!embedded) {
    const publicUrl = config.publicUrl ?? (config.port === 0 ? null : address)
    const { end } = await enterInstallation(db, { publicUrl, mediaStore: config.mediaStore }, (err) =>
      log.error({ err }, 'processes: heartbeat failed'),
    )
    endings.push({ what: 'entry among the processes', end })
  }
  const parts = await makeParts({ config, version, db, log, seal, simulator, publicUrl: () => address })
  endings.push({ what: 'watch', end: parts.changes.stop })
  if (carrier) {
    const untold = (error: unknown) => log.warn({ err: error }, 'the sandbox was not told of all numbers')
    endings.push({ what: 'lines', end: (await tellLines(parts, untold)).end })
  }
  const chat = carrier && (await furnishChat(parts, carrier))
  const lines = carrier && (await furnishLines(parts, carrier))

  const running = await run(parts, tls)
  endings.push({
    what: 'roles',
    end: () => {
      claim.draining()
      return running.stop()
    },
  })
  const local = addressAt(running.port)
  address = config.publicUrl ?? local

  if (lines && config.roles.includes('worker')) await parts.carriers.settled(lines.sms, 10)
  if (chat && config.roles.includes('worker')) await parts.networks.settled(chat, 10)
  if (config.roles.includes('voice')) await parts.voice.known()
  if (lines && config.roles.includes('voice')) await parts.voice.settled(lines.trunk, 10)
  parts.life.ready = true
  const ready = {
    url: local,
    pid: process.pid,
    ...(carrier ? { smpp_port: carrier.smppPort, sip_port: carrier.sipPort } : {}),
    ...(parts.voice.port() === null ? {} : { voice_port: parts.voice.port() }),
    ...(keys ? { api_key: keys.apiKey, operator_key: keys.operatorKey } : {}),
  }
  if (config.readyFile) {
    writeFileSync(`${config.readyFile}.new`, `${JSON.stringify(ready)}\n`, { mode: 0o600 })
    renameSync(`${config.readyFile}.new`, config.readyFile)
  }
  void notifySystemd('READY=1')
  greet(address, keys, config)
  const exposure = sandboxExposure(config)
  if (exposure !== null) {
    log.warn({ exposure }, 'sandbox: reachable from other machines')
    process.stderr.write(exposedSandbox(exposure))
  }
  // Where this fails the keys are shown once more at the next start.
  if (keys) await keysShown(db).catch((err) => log.warn({ err }, 'start: failed to record that the keys were shown'))
  sweep()
}

/** Prints the addresses, and the keys that were generated: those of the settings are known, and logs keep what is printed. */
const greet = (address: string, keys: FirstKeys | null, { sandbox, apiKey, operatorKey }: Config) => {
  const generated = [
    ...(keys && apiKey === null ? [`  API key        ${keys.apiKey}`] : []),
    ...(keys && operatorKey === null ? [`  Operator key   ${keys.operatorKey}`] : []),
  ]
  const lines = [
    `Trunkline ${version} is ready${sandbox ? ', with sandbox carriers' : ''}.`,
    `  Console        ${address}/console`,
    `  API            ${address}/open`,
    `  Documentation  ${address}/docs`,
    ...(generated.length > 0 ? ['  Shown this once, keep them:', ...generated] : []),
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
}

const exposedSandbox = (exposure: string) => `
  WARNING: the sandbox is on, and other machines can reach this server (${exposure}).
  Sandbox accounts can move the platform's clock, call private addresses of this network and make up calls and
  messages. Set TRUNKLINE_SANDBOX=false for real traffic.

`

/** Gives back what only the start needed: most of it young space that V8 would keep committed (145 MB before, 85 after). */
const sweep = () => {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  if (typeof collect === 'function') collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}

let ending: Promise<never> | null = null

/** Ends everything in the opposite order of its start. */
const end = (code: number): Promise<never> => {
  ending ??= (async () => {
    setTimeout(() => process.exit(1), drainMs).unref()
    const notified = notifySystemd('STOPPING=1')
    let status = code
    for (const { what, end } of endings.toReversed()) {
      try {
        await end()
      } catch (error) {
        status = 1
        say(`ending the ${what} failed: ${error}`)
      }
    }
    await notified
    process.exit(status)
  })()
  return ending
}

// Ctrl-C reaches npm too, which hands it on: the second one is the same wish.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void end(0))

// By default Node opens its debugger on this signal, and whoever reaches that can run code.
process.on('SIGUSR1', () => {})

// When npm is killed, nobody would end us.
if (process.env.npm_lifecycle_event) {
  const parent = process.ppid
  setInterval(() => process.ppid !== parent && void end(0), 1000).unref()
}

try {
  await start()
} catch (error) {
  const text = error instanceof Error ? (process.env.TRUNKLINE_LOG === 'debug' ? error.stack : error.message) : error
  say(String(text))
  await end(1)
}
