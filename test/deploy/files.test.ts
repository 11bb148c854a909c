import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join, matchesGlob } from 'node:path'
import { describe, test } from 'node:test'
import { parse } from 'yaml'
import { settings } from '../../src/config.ts'
import { makeDocuments } from '../../src/interfaces/site/documents.ts'
import { needs } from '../needs.ts'
import { temporaryFolder } from '../servers.ts'

// Checks of deploy/ that need no built image; test/deploy/image.test.ts builds it.

const root = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')

const files = globSync('deploy/*', { cwd: root })

test('every setting named in deploy/ and docs/deploying.md exists', () => {
  const known = new Set<string>(Object.values(settings).map(({ name }) => name))
  const named = [...files, 'docs/deploying.md'].flatMap((path) =>
    [...read(path).matchAll(/\b(?:TRUNKLINE_[A-Z_]+|DATABASE_URL)\b/g)].map(([name]) => ({ path, name })),
  )
  assert.ok(named.length >= 15, `saw only ${named.length} settings`)
  assert.deepEqual(
    named.filter(({ name }) => !known.has(name)),
    [],
  )
})

type Instruction = { readonly name: string; readonly text: string }

/** The stages of a Containerfile, each a list of instructions; comments and continued lines are resolved. */
const stages = (): Instruction[][] => {
  const text = read('deploy/Containerfile')
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n\s*/g, '')
  const all = text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [, name = '', rest = ''] = /^([A-Z]+) (.+)$/.exec(line) ?? []
      assert.notEqual(name, '', `not an instruction: ${line}`)
      return { name, text: rest }
    })
  const starts = all.flatMap(({ name }, i) => (name === 'FROM' ? [i] : []))
  return [all.slice(0, starts[0]), ...starts.map((from, i) => all.slice(from, starts[i + 1]))]
}

describe('the Containerfile', () => {
  const [head = [], build = [], image = []] = stages()
  const of = (stage: Instruction[], name: string) => stage.filter((one) => one.name === name).map(({ text }) => text)

  test('has two stages of known instructions on a base that is an argument', () => {
    assert.equal(stages().length, 3)
    assert.deepEqual(of(head, 'ARG'), ['BASE=debian:12-slim', `BUILDER=${'$'}{BASE}`])
    assert.deepEqual(of(build, 'FROM'), [`${'$'}{BUILDER} AS build`])
    assert.deepEqual(of(image, 'FROM'), [`${'$'}{BASE}`])
    const known = ['ARG', 'FROM', 'RUN', 'COPY', 'WORKDIR', 'LABEL', 'ENV', 'USER', 'VOLUME', 'EXPOSE', 'STOPSIGNAL']
    for (const { name } of [...head, ...build, ...image])
      assert.ok([...known, 'HEALTHCHECK', 'ENTRYPOINT', 'CMD'].includes(name), name)
  })

  test('runs as an unprivileged user with one volume, a health check and tini', () => {
    assert.deepEqual(of(image, 'USER'), ['999:999'])
    assert.deepEqual(of(image, 'VOLUME'), ['/data'])
    assert.deepEqual(of(image, 'STOPSIGNAL'), ['SIGTERM'])
    assert.match(of(image, 'HEALTHCHECK').join(), /healthcheck\.mjs"\]$/)
    assert.match(of(image, 'ENTRYPOINT').join(), /\/tini"/)
    for (const form of ['ENTRYPOINT', 'CMD']) assert.ok(Array.isArray(JSON.parse(of(image, form).join())), form)
    const after = image.slice(image.findIndex(({ name }) => name === 'USER'))
    assert.deepEqual(of(after, 'RUN'), [])
  })

  test('installs no program of speech by default, and its label names the licence of one', () => {
    assert.ok(of(image, 'ARG').includes('SPEECH='))
    assert.match(of(image, 'LABEL').join(), /\.licenses="Apache-2\.0\$\{SPEECH:\+ AND GPL-3\.0-or-later\}"/)
  })

  test('copies only what .dockerignore lets through', () => {
    const lines = read('.dockerignore').split('\n')
    assert.equal(
      lines.find((line) => line !== '' && !line.startsWith('#')),
      '*',
    )
    const allowed = lines.filter((line) => line.startsWith('!')).map((line) => line.slice(1))
    const copied = of(build, 'COPY').flatMap((text) => text.split(' ').slice(0, -1))
    assert.deepEqual(
      copied.filter((path) => path !== '.' && !allowed.includes(path)),
      [],
    )
    for (const path of allowed) assert.ok(globSync(path, { cwd: root }).length >= 1, path)
  })

  test('contains every document that the site serves', () => {
    const rules = read('.dockerignore')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => ({ isAllowed: line.startsWith('!'), pattern: line.replace(/^!/, '') }))
    const matches = (path: string, pattern: string) => matchesGlob(path, pattern) || matchesGlob(path, `${pattern}/**`)
    const isCopied = (path: string) => rules.findLast(({ pattern }) => matches(path, pattern))?.isAllowed === true
    const { documents } = makeDocuments(root)
    assert.ok(documents.length >= 50, `saw only ${documents.length} documents`)
    assert.deepEqual(
      documents.filter(({ file }) => !isCopied(file)),
      [],
    )
    for (const path of ['docs/openapi.json', '.env', 'data/key', 'src/config.test.ts']) assert.ok(!isCopied(path), path)
  })

  test('names the version of package.json', () => {
    const { version } = JSON.parse(read('package.json'))
    assert.equal(of(image, 'ARG')[0], `VERSION=${version}`)
  })
})

type Service = {
  readonly image: string
  readonly build?: { readonly context: string; readonly dockerfile: string }
  readonly environment: Record<string, string>
  readonly volumes?: string[]
  readonly ports?: string[]
  readonly stop_grace_period: string
}
type Compose = { readonly services: Record<string, Service>; readonly volumes: Record<string, null> }

// A parse boundary: the tests below check each field that they use.
const compose = (path: string) => parse(read(path), { strict: true, uniqueKeys: true }) as Compose

describe('compose.yaml', () => {
  const alone = compose('deploy/compose.yaml')
  const withPostgres = compose('deploy/compose.postgres.yaml')

  test('runs only the platform, on one named volume', () => {
    assert.deepEqual(Object.keys(alone.services), ['trunkline'])
    const { build, volumes } = alone.services.trunkline ?? assert.fail()
    assert.deepEqual(build, { context: '..', dockerfile: 'deploy/Containerfile' })
    assert.deepEqual(volumes, ['data:/data'])
    assert.deepEqual(Object.keys(alone.volumes), ['data'])
  })

  test('grants a stop the time that draining takes, and publishes to loopback only', () => {
    for (const { stop_grace_period: grace } of [alone.services.trunkline ?? assert.fail()])
      assert.ok(Number.parseInt(grace, 10) > 30, grace)
    for (const { ports = [] } of Object.values({ ...alone.services, ...withPostgres.services }))
      for (const port of ports) assert.match(port, /^127\.0\.0\.1:/)
  })

  test('with PostgreSQL 18 has the same password on both sides, and none by default', () => {
    const { trunkline = assert.fail(), postgres = assert.fail() } = withPostgres.services
    assert.equal(postgres.image, 'postgres:18')
    assert.deepEqual(postgres.volumes, ['postgres:/var/lib/postgresql'])
    const password = postgres.environment.POSTGRES_PASSWORD ?? ''
    assert.match(password, /^\$\{POSTGRES_PASSWORD:\?/)
    assert.ok(trunkline.environment.DATABASE_URL?.includes(`:${password}@postgres:5432/`))
    assert.match(trunkline.environment.TRUNKLINE_MASTER_KEY ?? '', /^\$\{TRUNKLINE_MASTER_KEY:\?/)
  })
})

describe('the systemd unit', needs('systemd-notify'), () => {
  /** The unit with the paths of this checkout, so that systemd-analyze looks for the programs it starts. */
  const unit = () => {
    const path = join(temporaryFolder(), 'trunkline.service')
    const node = join(root, 'node_modules/.bin/node')
    const text = read('deploy/trunkline.service').replace(/^ExecStart=\S+/m, `ExecStart=${node}`)
    assert.ok(text.includes(node))
    writeFileSync(path, text)
    return path
  }
  const analyze = (...flags: string[]) => spawnSync('systemd-analyze', flags, { encoding: 'utf8' })

  test('is accepted by systemd-analyze verify without a word', () => {
    const { status, stdout, stderr } = analyze('verify', '--man=no', unit())
    // Warnings about units of the machine itself are ignored.
    const own = `${stdout}${stderr}`.split('\n').filter((line) => line.includes('trunkline'))
    assert.deepEqual({ status, own }, { status: 0, own: [] })
  })

  test('notifies readiness, waits for draining and has a low exposure score', () => {
    const text = read('deploy/trunkline.service')
    for (const line of ['Type=notify', 'NotifyAccess=all', 'DynamicUser=yes', 'ProtectSystem=strict'])
      assert.ok(text.split('\n').includes(line), line)
    assert.ok(Number(/^TimeoutStopSec=(\d+)$/m.exec(text)?.[1]) > 30)
    // Exposure on a scale up to 10; 2.0 allows the network and the JIT compiler, which the platform needs.
    const { status, stdout } = analyze('security', '--offline=true', '--threshold=20', '--no-pager', unit())
    assert.equal(status, 0, stdout.split('\n').slice(-3).join('\n'))
  })
})
