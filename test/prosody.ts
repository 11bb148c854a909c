import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { certificate } from './certificate.ts'
import { canConnect, freePort } from './counterparts/program.ts'
import { temporaryFolder } from './servers.ts'

// Debian's Prosody on loopback, an XMPP server that we did not write, with a certificate of its own.

export const secret = 'of the component'
export const password = 'of everybody'
export const component = 'gate.localhost'

/** Waits until something holds. */
export const until = async (what: string, condition: () => boolean | Promise<boolean>, seconds = 60): Promise<void> => {
  const end = performance.now() + seconds * 1_000
  while (!(await condition())) {
    assert.ok(performance.now() < end, `not within ${seconds} s: ${what}`)
    await wait(20)
  }
}

/** A test, or another owner that ends what was started. */
export type Lifetime = { after(work: () => unknown): void }

/** An XMPP server of a test: Prosody, or ejabberd. */
export type Prosody = {
  readonly port: number
  readonly componentPort: number
  /** PEM of the self-signed certificate. */
  readonly ca: string
  signal(name: NodeJS.Signals): void
  /** Stops the server. Default: with TERM. */
  stop(by?: NodeJS.Signals): Promise<void>
  start(): Promise<void>
}

type Ports = { c2s: number; component: number; http: number }

const configOf = (folder: string, { c2s, component: part, http }: Ports): string => `
run_as_root = true
daemonize = false
data_path = "${folder}/data"
pidfile = "${folder}/prosody.pid"
log = { warn = "${folder}/prosody.log" }
interfaces = { "127.0.0.1" }
c2s_ports = { ${c2s} }
component_ports = { ${part} }
component_interfaces = { "127.0.0.1" }
http_ports = { ${http} }
http_interfaces = { "127.0.0.1" }
https_ports = {}
s2s_ports = {}
authentication = "internal_plain"
storage = "internal"
c2s_require_encryption = false
allow_unencrypted_plain_auth = true
modules_enabled = { "roster", "saslauth", "tls", "disco", "ping", "presence", "message", "iq", "offline", "pep",
  "vcard_legacy", "vcard4", "carbons", "mam", "smacks", "admin_adhoc", "adhoc" }
modules_disabled = { "s2s" }
smacks_hibernation_time = 60
archive_expires_after = "never"
admins = { "admin@localhost", "check@${component}" }
ssl = { certificate = "${folder}/cert.pem", key = "${folder}/key.pem" }
VirtualHost "localhost"
Component "rooms.localhost" "muc"
  modules_enabled = { "muc_mam" }
Component "share.localhost" "http_file_share"
  http_host = "localhost"
  http_external_url = "http://localhost:${http}/"
  http_file_share_access = { "${component}", "localhost" }
Component "${component}"
  component_secret = "${secret}"
`

const writeAccount = (folder: string, user: string): void =>
  writeFileSync(join(folder, 'data/localhost/accounts', `${user}.dat`), `return { ["password"] = "${password}"; };\n`)

/** Starts a server with `admin` and these accounts; it stops at the end of the test. */
export const startProsody = async (t: Lifetime, users: readonly string[]): Promise<Prosody> => {
  const folder = temporaryFolder('prosody-')
  const ports = { c2s: await freePort(), component: await freePort(), http: await freePort() }
  mkdirSync(join(folder, 'data/localhost/accounts'), { recursive: true })
  for (const user of ['admin', ...users]) writeAccount(folder, user)
  const { cert, key } = certificate('DNS:localhost')
  writeFileSync(join(folder, 'cert.pem'), cert)
  writeFileSync(join(folder, 'key.pem'), key)
  writeFileSync(join(folder, 'prosody.cfg.lua'), configOf(folder, ports))

  let running: ChildProcess | null = null
  let guard: ChildProcess | null = null
  const start = async () => {
    running = spawn('prosody', ['-F', '--config', join(folder, 'prosody.cfg.lua')], { stdio: 'ignore' })
    // No handler of ours runs after `kill -9`: a shell that waits for the end of a pipe stops the server.
    guard = spawn('/bin/sh', ['-c', 'read -r _; kill -9 "$0"', String(running.pid)], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    await until('Prosody listens', async () => (await canConnect(ports.c2s)) && canConnect(ports.component))
  }
  const stop = async (by: NodeJS.Signals = 'SIGTERM') => {
    const child = running
    running = null
    guard?.kill('SIGKILL')
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGCONT')
    child.kill(by)
    await ended
  }
  t.after(() => stop())
  await start()
  return {
    port: ports.c2s,
    componentPort: ports.component,
    ca: cert,
    start,
    stop,
    signal: (name) => void running?.kill(name),
  }
}
