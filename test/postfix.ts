import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import PostalMime, { type Email } from 'postal-mime'
import { certificate } from './certificate.ts'
import { canConnect, freePort } from './counterparts/program.ts'
import { needs } from './needs.ts'
import { type Lifetime, until } from './prosody.ts'
import { temporaryFolder } from './servers.ts'

// Debian's Postfix on loopback, with configuration, queue and mailboxes of its own. Nothing leaves this machine.

/** Postfix starts as root only. */
export const needsPostfix = () => {
  const { skip } = needs('postfix')
  return { skip: skip || (process.getuid?.() === 0 ? false : 'needs postfix: run as root') }
}

/** What Postfix asks its policy server: https://www.postfix.org/SMTPD_POLICY_README.html. */
export type PolicyRequest = Readonly<Record<string, string>>

type Options = {
  /** `starttls`: nothing goes without it. `direct`: TLS from the first byte. Default: plain text. */
  readonly tls?: 'starttls' | 'direct'
  /** The login without which no mail is taken. */
  readonly login?: { readonly user: string; readonly password: string }
  /** Names of the certificate. Default: 127.0.0.1 and localhost. */
  readonly names?: string
  /** Settings of main.cf. */
  readonly settings?: Readonly<Record<string, string>>
}

export type Postfix = {
  readonly port: number
  /** PEM of the certificate, and a file with it. */
  readonly ca: string
  readonly caFile: string
  /** Decides about connections and recipients: an action of access(5). Default: DUNNO, the mail is taken. */
  policy: (request: PolicyRequest) => string | Promise<string>
  /** The mails that were delivered to an address, oldest first. */
  mailsTo(address: string): Promise<Email[]>
  /** Waits for a mail to an address, and returns the newest one. */
  mailTo(address: string, count?: number): Promise<Email>
  start(): Promise<void>
  stop(): Promise<void>
}

const programs = '/usr/lib/postfix/sbin'

const idOf = (user: string): [number, number] => {
  const line =
    readFileSync('/etc/passwd', 'utf8')
      .split('\n')
      .find((one) => one.startsWith(`${user}:`)) ?? assert.fail(user)
  const [, , uid, gid] = line.split(':')
  return [Number(uid), Number(gid)]
}

const mainOf = (folder: string, policy: number, sasl: number, { tls, login, settings = {} }: Options): string => {
  const [uid, gid] = idOf('nobody')
  const ask = `check_policy_service inet:127.0.0.1:${policy}`
  return Object.entries({
    compatibility_level: '3.6',
    queue_directory: `${folder}/spool`,
    data_directory: `${folder}/data`,
    daemon_directory: programs,
    maillog_file: `${folder}/log`,
    maillog_file_prefixes: folder,
    inet_protocols: 'ipv4',
    myhostname: 'mail.test',
    mynetworks: '127.0.0.0/8',
    mydestination: '',
    alias_maps: '',
    local_recipient_maps: '',
    relay_domains: '',
    default_transport: 'error',
    relay_transport: 'error',
    smtputf8_enable: 'yes',
    // Every address is delivered, to one mailbox.
    virtual_mailbox_domains: 'static:all',
    virtual_mailbox_base: `${folder}/mail`,
    virtual_mailbox_maps: 'static:all/',
    virtual_uid_maps: `static:${uid}`,
    virtual_gid_maps: `static:${gid}`,
    // The policy is asked before the greeting, and for each recipient.
    smtpd_delay_reject: 'no',
    smtpd_client_restrictions: ask,
    smtpd_recipient_restrictions: `${login ? 'permit_sasl_authenticated, reject' : ask}`,
    smtpd_tls_security_level: tls === 'starttls' ? 'encrypt' : 'none',
    ...(tls === 'direct' ? { smtpd_tls_wrappermode: 'yes' } : {}),
    smtpd_tls_cert_file: `${folder}/cert.pem`,
    smtpd_tls_key_file: `${folder}/key.pem`,
    smtpd_sasl_auth_enable: login ? 'yes' : 'no',
    smtpd_sasl_type: 'dovecot',
    smtpd_sasl_path: `inet:127.0.0.1:${sasl}`,
    ...settings,
  })
    .map(([name, value]) => `${name} = ${value}\n`)
    .join('')
}

const masterOf = (port: number): string =>
  [
    `127.0.0.1:${port} inet n - n - - smtpd`,
    ...['cleanup unix n - n - 0 cleanup', 'qmgr unix n - n 300 1 qmgr', 'tlsmgr unix - - n 1000? 1 tlsmgr'],
    ...['rewrite unix - - n - - trivial-rewrite', 'virtual unix - n n - - virtual', 'anvil unix - - n - 1 anvil'],
    ...['bounce', 'defer', 'trace'].map((name) => `${name} unix - - n - 0 bounce`),
    ...['error', 'retry'].map((name) => `${name} unix - - n - - error`),
    ...['proxymap unix - - n - - proxymap', 'postlog unix-dgram n - n - 1 postlogd', ''],
  ].join('\n')

type LineServer = { readonly port: number; close(): void }

/** A server of lines on loopback. @param greeting is sent to each connection */
const serveLines = async (greeting: string, onLine: (line: string, socket: Socket) => void): Promise<LineServer> => {
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    open.add(socket)
    socket.on('error', () => {}).on('close', () => open.delete(socket))
    if (greeting) socket.write(greeting)
    let rest = ''
    socket.setEncoding('utf8').on('data', (part: string) => {
      const lines = (rest + part).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) onLine(line, socket)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const at = server.address()
  const close = () => {
    server.close()
    for (const socket of open) socket.destroy()
  }
  return { port: typeof at === 'object' && at ? at.port : assert.fail('no port'), close }
}

/** Checks logins for Postfix by the protocol of Dovecot (version 1.1), PLAIN only. */
const serveLogins = ({ login }: Options): Promise<LineServer> => {
  const hello = [
    'VERSION\t1\t1',
    'MECH\tPLAIN\tplaintext',
    'SPID\t1',
    'CUID\t1',
    `COOKIE\t${'0'.repeat(32)}`,
    'DONE',
    '',
  ]
  const right = Buffer.from(`\0${login?.user}\0${login?.password}`).toString('base64')
  return serveLines(hello.join('\n'), (line, socket) => {
    const [command, id = '', , ...parameters] = line.split('\t')
    if (command !== 'AUTH') return
    const isRight = login !== undefined && parameters.includes(`resp=${right}`)
    socket.write(isRight ? `OK\t${id}\tuser=${login.user}\n` : `FAIL\t${id}\n`)
  })
}

/** Starts a mail server that takes mail for every address; it stops at the end of the test. */
export const startPostfix = async (t: Lifetime, options: Options = {}): Promise<Postfix> => {
  const folder = temporaryFolder('postfix-')
  const [etc, mailbox] = [join(folder, 'etc'), join(folder, 'mail/all/new')]
  const port = await freePort()
  const { cert, key } = certificate(options.names ?? 'IP:127.0.0.1,DNS:localhost')
  const caFile = join(folder, 'cert.pem')
  writeFileSync(caFile, cert)
  writeFileSync(join(folder, 'key.pem'), key)
  const fields = new WeakMap<Socket, Record<string, string>>()
  const policy = await serveLines('', (line, socket) => {
    const request = fields.get(socket) ?? {}
    fields.set(socket, request)
    const [name = '', ...value] = line.split('=')
    if (line !== '') {
      request[name] = value.join('=')
      return
    }
    fields.delete(socket)
    void Promise.resolve(postfix.policy(request)).then((action) => socket.write(`action=${action}\n\n`))
  })
  const logins = await serveLogins(options)
  for (const part of ['etc', 'spool', 'data', 'mail']) mkdirSync(join(folder, part))
  chownSync(join(folder, 'data'), ...idOf('postfix'))
  chownSync(join(folder, 'mail'), ...idOf('nobody'))
  mkdirSync(join(folder, 'spool/pid'))
  const queues = ['active', 'bounce', 'corrupt', 'defer', 'deferred', 'flush', 'hold', 'incoming', 'maildrop']
  for (const queue of [...queues, 'private', 'public', 'saved', 'trace']) {
    mkdirSync(join(folder, 'spool', queue), { mode: 0o700 })
    chownSync(join(folder, 'spool', queue), ...idOf('postfix'))
  }
  writeFileSync(join(etc, 'main.cf'), mainOf(folder, policy.port, logins.port, options))
  writeFileSync(join(etc, 'master.cf'), masterOf(port))

  let running: ChildProcess | null = null
  let guard: ChildProcess | null = null
  const start = async () => {
    // A process group of its own: Postfix ends its programs by that.
    running = spawn(join(programs, 'master'), ['-c', etc, '-d'], { detached: true, stdio: 'ignore' })
    // No handler of ours runs after `kill -9`: a shell that waits for the end of a pipe stops the server.
    guard = spawn('/bin/sh', ['-c', 'read -r _; kill -9 -- "-$0"', String(running.pid)], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    await until('Postfix listens', () => canConnect(port))
  }
  const stop = async () => {
    const child = running
    running = null
    guard?.kill('SIGKILL')
    if (!child?.pid || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    process.kill(-child.pid, 'SIGKILL')
    await ended
  }
  t.after(async () => {
    await stop()
    policy.close()
    logins.close()
  })

  /** Seconds and microseconds of a mail, from the name of its file: seconds.VdeviceIinodeMmicroseconds.host. */
  const timeOf = (name: string): number => {
    const [, seconds, micros] = /^(\d+)\.V[\da-f]+I[\da-f]+M(\d+)\./.exec(name) ?? assert.fail(name)
    return Number(seconds) * 1_000_000 + Number(micros)
  }
  const mails = async (): Promise<Email[]> => {
    const names = readdirSync(mailbox).sort((a, b) => timeOf(a) - timeOf(b))
    return Promise.all(names.map((name) => PostalMime.parse(readFileSync(join(mailbox, name), 'utf8'))))
  }
  const isTo = (mail: Email, address: string) =>
    mail.headers.some(({ key, value }) => key === 'x-original-to' && value === address)
  const mailsTo = async (address: string) => {
    try {
      return (await mails()).filter((mail) => isTo(mail, address))
    } catch (error) {
      // Before the first mail there is no mailbox.
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
      throw error
    }
  }
  const postfix: Postfix = {
    ...{ port, ca: cert, caFile, start, stop, mailsTo },
    policy: () => 'DUNNO',
    mailTo: async (address, count = 1) => {
      let found: Email[] = []
      await until(`${count} mails to ${address}`, async () => {
        found = await mailsTo(address)
        return found.length >= count
      })
      return found.at(-1) ?? assert.fail()
    },
  }
  await start()
  return postfix
}
