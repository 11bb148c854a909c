import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from './servers.ts'

const root = join(import.meta.dirname, '..')

/** The libatomic that this process has loaded, as ldd would show it. */
const libatomic = /\S+libatomic\.so\.1\S*/.exec(
  process.platform === 'linux' ? readFileSync('/proc/self/maps', 'utf8') : '',
)?.[0]

/** A checkout with installed dependencies, in which Node was never started. */
const makeCheckout = (): string => {
  const checkout = temporaryFolder()
  for (const folder of ['bin', 'scripts', 'node_modules/.bin']) mkdirSync(join(checkout, folder), { recursive: true })
  for (const file of ['bin/pinned-node.mjs', 'scripts/ready.mjs', 'package-lock.json', 'node_modules/.trunkline-stamp'])
    copyFileSync(join(root, file), join(checkout, file))
  const name = `node-${process.platform}-${process.arch}`
  symlinkSync(join(root, 'node_modules', name), join(checkout, 'node_modules', name))
  return checkout
}

test('the start names the package to install on a machine without libatomic', {
  skip: libatomic ? false : 'this Node does not load libatomic',
}, () => {
  const script = 'mount --bind /dev/null "$1" && exec "$2" scripts/ready.mjs'
  const bootstrap = process.env.npm_node_execpath ?? 'node'
  const { status, stderr } = spawnSync(
    'unshare',
    ['--map-root-user', '--mount', 'sh', '-c', script, 'sh', libatomic ?? '', bootstrap],
    { cwd: makeCheckout(), encoding: 'utf8' },
  )
  assert.equal(status, 1, stderr)
  assert.match(stderr, /libatomic\.so\.1 is missing.*apt-get install libatomic1/)
})

test('dependencies installed without the development ones are not installed again', () => {
  const checkout = makeCheckout()
  const stamp = join(checkout, 'node_modules/.trunkline-stamp')
  const { packages }: { packages: Record<string, { dev?: boolean }> } = JSON.parse(
    readFileSync(join(root, 'package-lock.json'), 'utf8'),
  )
  const installed = Object.fromEntries(Object.entries(packages).filter(([, { dev }]) => !dev))
  const ready = (without: string | null, ...flags: string[]) => {
    rmSync(stamp, { force: true })
    const left = Object.fromEntries(Object.entries(installed).filter(([path]) => path !== without))
    writeFileSync(join(checkout, 'node_modules/.package-lock.json'), JSON.stringify({ packages: left }))
    // Without npm_execpath and with an empty PATH, no npm could install anything.
    const env = { PATH: '/nonexistent' }
    return spawnSync(process.execPath, ['scripts/ready.mjs', ...flags], { cwd: checkout, encoding: 'utf8', env }).stderr
  }
  assert.doesNotMatch(ready(null), /installing dependencies/)
  assert.match(readFileSync(stamp, 'utf8'), / run$/)
  assert.match(ready('node_modules/fastify'), /installing dependencies/)
  assert.match(ready(null, '--dev'), /installing dependencies/)
})
