import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Logger } from 'pino'
import {
  bootstrap,
  type InitialKeys,
  recordKeysPrinted,
  setUpSandboxCarriers,
  setUpSandboxChat,
  takeFirstStart,
} from './bootstrap.ts'
import { checkPorts } from './check-ports.ts'
import { type Config, deprecatedSettings, environment, readConfig, sandboxExposure } from './config.ts'
import { freeVoiceLease } from './domains/calls/lease/voice-lease.ts'
import { closeAllOpenCalls } from './domains/calls/ops.ts'
import {
  enterInstallation,
  identifyMediaStore,
  type MediaStore,
  type Membership,
  upgrades,
} from './domains/installation/ops.ts'
import { admitWith, KeyReplaced, openSeal } from './domains/keys/ops.ts'
import { releaseConnectionLeases } from './domains/msgapp/runner/connection-manager.ts'
import { newClaimLink } from './domains/persons/ops.ts'
import { syncNumbers } from './domains/sandbox/ops.ts'
import { makeSimulatorClient } from './domains/sandbox/simulator-client.ts'
import { startSimulator } from './domains/sandbox/simulator-process.ts'
import { releaseEndpointLeases } from './domains/webhooks/ops.ts'
import { writeKeysFile } from './keys-file.ts'
import { makeWatchedLog } from './log.ts'
import { lockDataDirectory, restoreFolderIn } from './platform/db/data-directory.ts'
import { startEmbedded } from './platform/db/embedded.ts'
import { explainDatabaseFault } from './platform/db/explain-fault.ts'
import { checkPooler } from './platform/db/pooler-check.ts'
import { type Admit, connect, type Db } from './platform/db/sql.ts'
import { startWakeUps } from './platform/db/wake-ups.ts'
import { releaseLeases } from './platform/jobs/consume/worker.ts'
import { processName } from './platform/lib/process-name.ts'
import { makeNotifySystemd } from './platform/lib/systemd.ts'
import { makeHangUpDetector, reloadSettings } from './reload.ts'
import { readTlsFiles } from './tls-files.ts'

const drainMs = 30_000

/** Milliseconds before those, in which load balancers leave this process. */
let leaveMs = 0

const version = String(JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8')).version)

/** Loads most of the code, once. It is not imported above, so that it can load while PostgreSQL starts. */
const loadServer = async () => {
  const [{ assemble }, { startRoles }] = await Promise.all([import('./assemble.ts'), import('./start-roles.ts')])
  return { assemble, startRoles }
}

/** Steps of the shutdown, run in reverse order. */
const shutdownSteps: { what: string; end: () => Promise<void> | void }[] = []

const printError = (text: string) => process.stderr.write(`trunkline: ${text}\n`)
const notifySystemd = makeNotifySystemd(process.env, printError)

/** Starts and migrates the database. Statements are admitted by `admission`, which the master key decides later. */
const openDatabase = async (
  home: string,
  { databaseUrl, migrate }: Config,
  { log, outage }: ReturnType<typeof makeWatchedLog>,
) => {
  const onLaunch = () => void loadServer()
  const embedded = databaseUrl === null ? await startEmbedded({ home, log, onLaunch }) : null
  if (embedded) shutdownSteps.push({ what: 'database', end: embedded.stop })

  const onError = (error: Error) => log.warn({ err: error }, 'database: connection lost')
  const url = databaseUrl ?? embedded?.url ?? ''
  const migrationDb = connect({ url, connections: 2, unlimited: true, onError })
  const prepare = async () => {
    if (embedded === null) await checkPooler(migrationDb)
    await upgrades.prepare(migrationDb, migrate, log)
  }
  await prepare().catch((error: unknown) => {
    throw databaseUrl === null ? error : explainDatabaseFault(error, databaseUrl, 'DATABASE_URL')
  })
  await migrationDb.end()
  const admission: { admit: Admit } = { admit: async () => {} }
  const db = connect({ url, connections: 16, onError, outage, admit: (sql) => admission.admit(sql) })
  shutdownSteps.push({ what: 'connections', end: db.end })
  if (embedded) {
    await releaseLeases(db)
    await releaseEndpointLeases(db)
    await releaseConnectionLeases(db)
    await closeAllOpenCalls(db)
    await freeVoiceLease(db)
  }
  const wakeUps = startWakeUps({ url, db, log, isAlone: embedded !== null })
  shutdownSteps.push({ what: 'wake-ups', end: wakeUps.stop })
  return { db, url, wakeUps, admission, embedded }
}

/** Stops the process when another one replaced the master key. */
const admitOrStop =
  (admit: Admit): Admit =>
  (sql) =>
    admit(sql).catch((error: unknown) => {
      if (error instanceof KeyReplaced) {
        printError(error.message)
        void shutDown(1)
      }
      throw error
    })

/** Registers this process among those of the database, which must have the same settings. */
const registerProcess = async (
  db: Db,
  { config, mediaStore, address }: { config: Config; mediaStore: MediaStore; address: string },
  log: Logger,
): Promise<Membership> => {
  const publicUrl = config.publicUrl ?? (config.port === 0 ? null : address)
  const onUnknownSchema = ({ message }: Error) => {
    printError(message)
    void shutDown(1)
  }
  const shared = { publicUrl, mediaStore, roles: config.roles, version, onUnknownSchema }
  const membership = await enterInstallation(db, shared, log)
  shutdownSteps.push({ what: 'process registration', end: membership.end })
  return membership
}

/** Replaces the file as a whole: its readers never see a part. */
const writeReadyFile = (path: string, ready: object) => {
  writeFileSync(`${path}.new`, `${JSON.stringify(ready)}\n`, { mode: 0o600 })
  renameSync(`${path}.new`, path)
}

/** Reads settings again on SIGHUP. A signal during the start takes effect once it is over. */
const reload = {
  isWanted: false,
  run: (): void => {
    reload.isWanted = true
  },
}

const start = async () => {
  const { values: flags } = parseArgs({ options: { 'forget-secrets': { type: 'boolean', default: false } } })
  const variables = environment()
  const config = readConfig(variables)
  leaveMs = config.drainSeconds * 1_000
  for (const warning of deprecatedSettings(variables)) printError(warning)
  const source = { instance: processName, role: config.roles.join(',') }
  const { log, outage } = makeWatchedLog(config.log, undefined, source)
  const home = resolve(config.home)

  const claim = await lockDataDirectory(home, log)
  shutdownSteps.push({ what: 'home', end: claim.release })
  if (existsSync(restoreFolderIn(home)))
    throw new Error(
      `A restore into ${home} was interrupted: run it again (npx trunkline restore FILE). To abandon it, remove ${restoreFolderIn(home)}.`,
    )
  // After the claim: a process that is stopping on this home still holds the ports.
  await checkPorts(config)
  const tls = readTlsFiles(config)
  const mediaStore = await identifyMediaStore(config.mediaStore, home)
  // The simulator loads while PostgreSQL starts. If this start fails first, the simulator ends with this process.
  const ports = { smpp: config.sandboxSmppPort, sip: config.sandboxSipPort }
  const simulating = config.sandbox ? startSimulator(home, ports, log) : null
  simulating?.catch(() => {}) // reported where it is awaited
  const { db, url, wakeUps, admission, embedded } = await openDatabase(home, config, { log, outage })
  const seal = await openSeal(db, { home, given: config.masterKey, forget: flags['forget-secrets'] }, printError)
  admission.admit = admitOrStop(admitWith(seal))
  const firstStart = embedded ? null : await takeFirstStart(db, url)
  const keys = await bootstrap(db, config, embedded !== null || firstStart !== null)

  const carrier = await simulating
  if (carrier) shutdownSteps.push({ what: 'sandbox', end: carrier.stop })
  const simulator = makeSimulatorClient(() => carrier && { port: carrier.controlPort, token: carrier.token })

  const host = config.host.includes(':') ? `[${config.host}]` : config.host
  const addressAt = (port: number) => `${tls ? 'https' : 'http'}://${host}:${port}`
  let address = config.publicUrl ?? addressAt(config.port)
  const membership = embedded ? null : await registerProcess(db, { config, mediaStore, address }, log)
  const { assemble, startRoles } = await loadServer()
  const services = await assemble({
    ...{ config, version, db, wakeUps, log, outage, seal, simulator },
    publicUrl: () => address,
    clockSkewSeconds: () => membership?.clockSkewSeconds() ?? null,
  })
  shutdownSteps.push({ what: 'change notifications', end: services.changes.stop })
  if (carrier) {
    const onAnnounceError = (error: unknown) =>
      log.warn({ err: error }, 'sandbox: failed to announce numbers to the simulator')
    shutdownSteps.push({ what: 'sandbox numbers', end: (await syncNumbers(services, onAnnounceError)).end })
  }
  const sandboxChat = carrier && (await setUpSandboxChat(services, carrier))
  const sandboxConnections = carrier && (await setUpSandboxCarriers(services, carrier))

  const roles = startRoles(services, tls)
  shutdownSteps.push({
    what: 'roles',
    end: async () => {
      claim.markDraining()
      // A stop in this moment waits for the start, which uses what the next steps end.
      await started.catch(() => {})
      await (await roles.catch(() => null))?.stop()
    },
  })
  const running = await roles
  const local = addressAt(running.port)
  address = config.publicUrl ?? local

  if (sandboxConnections && config.roles.includes('worker'))
    await services.carriers.whenSettled(sandboxConnections.sms, 10)
  if (sandboxChat && config.roles.includes('worker')) await services.networks.waitUntilSettled(sandboxChat, 10)
  if (config.roles.includes('voice')) await services.voice.decided()
  if (sandboxConnections && config.roles.includes('voice')) await services.voice.settled(sandboxConnections.trunk, 10)
  const generated = generatedKeys(keys, config)
  if (config.keysFile && generated) writeKeysFile(config.keysFile, generated, printError)
  const claimUrl = await newClaimLink(db, address, membership?.id ?? null)
  services.lifecycle.ready = true
  const { setCertificate } = running
  reload.run = () => reloadSettings({ config, log, setCertificate })
  if (reload.isWanted) reload.run()
  const ready = {
    url: local,
    pid: process.pid,
    ...(carrier ? { smpp_port: carrier.smppPort, sip_port: carrier.sipPort } : {}),
    ...(services.voice.port() === null ? {} : { voice_port: services.voice.port() }),
    ...(keys ? { api_key: keys.apiKey, operator_key: keys.operatorKey } : {}),
    ...(claimUrl ? { claim_url: claimUrl } : {}),
  }
  if (config.readyFile) writeReadyFile(config.readyFile, ready)
  void notifySystemd('READY=1')
  const exposure = sandboxExposure(config)
  if (exposure !== null) {
    log.warn({ exposure }, 'sandbox: reachable from other machines')
    process.stderr.write(sandboxWarning(exposure))
  }
  printBanner(address, { generated, claimUrl }, config)
  // If this fails, the next start replaces the keys and prints them.
  if (keys)
    await recordKeysPrinted(db).catch((err) => log.warn({ err }, 'start: failed to record that the keys were shown'))
  await firstStart?.end()
  collectGarbage()
}

/** Returns the keys that this start generated; null without any. Those of the settings are not shown, as logs may store
 *  the output. */
const generatedKeys = (keys: InitialKeys | null, { apiKey, operatorKey }: Config): Partial<InitialKeys> | null => {
  if (keys === null || (apiKey !== null && operatorKey !== null)) return null
  return {
    ...(apiKey === null ? { apiKey: keys.apiKey } : {}),
    ...(operatorKey === null ? { operatorKey: keys.operatorKey } : {}),
  }
}

/** Prints the addresses, the generated keys unless a file has them, and a claim link as long as there is no person. */
const printBanner = (
  address: string,
  { generated, claimUrl }: { generated: Partial<InitialKeys> | null; claimUrl: string | null },
  { sandbox, keysFile, roles }: Config,
) => {
  const { apiKey, operatorKey } = generated ?? {}
  const keys = keysFile
    ? [`  The first keys are in ${resolve(keysFile)}.`]
    : [
        '  Shown this once, keep them:',
        ...(apiKey === undefined ? [] : [`  API key        ${apiKey}`]),
        ...(operatorKey === undefined ? [] : [`  Operator key   ${operatorKey}`]),
      ]
  const lines = [
    `Trunkline ${version} is ready${sandbox ? ', with sandbox carriers' : ''}.`,
    ...(roles.includes('console') ? [`  Console        ${address}/console`] : []),
    ...(roles.includes('api')
      ? [`  API            ${address}/open`, `  Documentation  ${address}/docs`]
      : [`  Roles          ${roles.join(', ')}: other processes serve the API`]),
    ...(generated ? keys : []),
    ...(claimUrl ? ['  Create the first person of the console, once, with this link:', `  ${claimUrl}`] : []),
  ]
  process.stdout.write(`\n${lines.join('\n')}\n\n`)
}

const sandboxWarning = (exposure: string) => `
  WARNING: the sandbox is on, and other machines can reach this server (${exposure}).
  Sandbox accounts can move the platform's clock, call private addresses of this network and simulate calls and
  messages. Set TRUNKLINE_SANDBOX=false for real traffic.

`

/** Releases memory that only the start needed, mostly V8's young space (145 MB committed before, 85 MB after). */
const collectGarbage = () => {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  if (typeof collect === 'function') collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}

let shutdown: Promise<never> | null = null

/** Runs the shutdown steps in reverse order, then exits. */
const shutDown = (code: number): Promise<never> => {
  shutdown ??= (async () => {
    setTimeout(() => process.exit(1), drainMs + leaveMs).unref()
    const notified = notifySystemd('STOPPING=1')
    let status = code
    for (const { what, end } of shutdownSteps.toReversed()) {
      try {
        await end()
      } catch (error) {
        status = 1
        printError(`failed to stop: ${what} (${error})`)
      }
    }
    await notified
    process.exit(status)
  })()
  return shutdown
}

// Ctrl-C also reaches npm, which forwards it: the second signal repeats the first.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void shutDown(0))

const isHangUp = makeHangUpDetector()
process.on('SIGHUP', () => {
  if (isHangUp()) void shutDown(0)
  else reload.run()
})

// By default Node opens its debugger on this signal, which lets anyone who reaches it run code.
process.on('SIGUSR1', () => {})

// npm cannot forward a signal when it is killed itself: stop when the parent is gone.
if (process.env.npm_lifecycle_event) {
  const parent = process.ppid
  setInterval(() => process.ppid !== parent && void shutDown(0), 1000).unref()
}

const started = start()
try {
  await started
} catch (error) {
  const text = error instanceof Error ? (process.env.TRUNKLINE_LOG === 'debug' ? error.stack : error.message) : error
  printError(String(text))
  await shutDown(1)
}
