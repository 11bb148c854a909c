import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { certificate } from './certificate.ts'
import { canConnect, freePort } from './counterparts/program.ts'
import { component, type Lifetime, type Prosody, password, secret, until } from './prosody.ts'
import { temporaryFolder } from './servers.ts'

// Debian's ejabberd on loopback, in its own folder: a node without a name, so that it needs neither epmd nor a cookie.

const libraries = '/usr/lib/x86_64-linux-gnu'

const configOf = (folder: string, { c2s, part, http }: { c2s: number; part: number; http: number }): string => `
hosts: [localhost]
loglevel: warning
certfiles: ["${folder}/cert.pem"]
auth_method: [internal]
auth_password_format: plain
listen:
  - {port: ${c2s}, ip: "127.0.0.1", module: ejabberd_c2s, starttls: true}
  - {port: ${http}, ip: "127.0.0.1", module: ejabberd_http, request_handlers: {"/upload": mod_http_upload}}
  - port: ${part}
    ip: "127.0.0.1"
    module: ejabberd_service
    hosts: {"${component}": {password: "${secret}"}}
acl:
  admin: {user: ["admin@localhost", "check@${component}"]}
access_rules:
  configure: {allow: admin}
  everybody: {allow: all}
modules:
  mod_adhoc: {}
  mod_caps: {}
  mod_carboncopy: {}
  mod_configure: {}
  mod_disco: {}
  mod_http_upload: {access: everybody, host: "share.localhost", put_url: "http://localhost:${http}/upload", docroot: "${folder}/files"}
  mod_last: {}
  mod_mam: {default: always}
  mod_muc: {host: "rooms.localhost", access_admin: configure, default_room_options: {mam: true}}
  mod_offline: {}
  mod_ping: {}
  mod_pubsub: {plugins: [flat, pep]}
  mod_roster: {}
  mod_stream_mgmt: {resume_timeout: 60}
  mod_vcard: {}
`

/** Starts a server with `admin` and these accounts; it stops at the end of the test. */
export const startEjabberd = async (t: Lifetime, users: readonly string[]): Promise<Prosody> => {
  const folder = temporaryFolder('ejabberd-')
  const [c2s, part, http] = [await freePort(), await freePort(), await freePort()]
  const { cert, key } = certificate('DNS:localhost')
  writeFileSync(join(folder, 'cert.pem'), `${cert}${key}`)
  writeFileSync(join(folder, 'ejabberd.yml'), configOf(folder, { c2s, part, http }))
  const done = join(folder, 'accounts-made')
  const register = ['admin', ...users]
    .map((user) => `ejabberd_auth:try_register(<<"${user}">>, <<"localhost">>, <<"${password}">>)`)
    .join(', ')

  let running: ChildProcess | null = null
  let guard: ChildProcess | null = null
  const start = async () => {
    const options = ['-noinput', '-boot', 'start_clean', '-mnesia', 'dir', `"${folder}/spool"`, '-s', 'ejabberd']
    const accounts = `${register}, file:write_file("${done}", <<"yes">>).`
    running = spawn('erl', [...options, '-eval', accounts], {
      stdio: 'ignore',
      env: {
        PATH: process.env.PATH,
        HOME: folder,
        ERL_LIBS: libraries,
        ERL_CRASH_DUMP: join(folder, 'crash'),
        EJABBERD_CONFIG_PATH: join(folder, 'ejabberd.yml'),
        EJABBERD_LOG_PATH: join(folder, 'ejabberd.log'),
      },
    })
    // No handler of ours runs after `kill -9`: a shell that waits for the end of a pipe stops the server.
    guard = spawn('/bin/sh', ['-c', 'read -r _; kill -9 "$0"', String(running.pid)], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    const isDone = () => {
      try {
        return readFileSync(done, 'utf8') === 'yes'
      } catch {
        return false
      }
    }
    await until('ejabberd listens', async () => isDone() && (await canConnect(c2s)) && canConnect(part))
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
  t.after(() => stop('SIGKILL'))
  await start()
  return { port: c2s, componentPort: part, ca: cert, start, stop, signal: (name) => void running?.kill(name) }
}
