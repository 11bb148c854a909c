import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from './servers.ts'

const root = join(import.meta.dirname, '..')

/** The library that this process has loaded, as ldd would show it. */
const libatomic = /\S+libatomic\.so\.1\S*/.exec(
  process.platform === 'linux' ? readFileSync('/proc/self/maps', 'utf8') : '',
)?.[0]

/** A checkout whose dependencies are installed and whose Node was never started. */
const makeCheckout = (): string => {
  const checkout = temporaryFolder()
  for (const folder of ['scripts', 'node_modules/.bin']) mkdirSync(join(checkout, folder), { recursive: true })
  for (const file of ['scripts/ready.mjs', 'package-lock.json', 'node_modules/.trunkline-stamp'])
    copyFileSync(join(root, file), join(checkout, file))
  const name = `node-${process.platform}-${process.arch}`
  symlinkSync(join(root, 'node_modules', name), join(checkout, 'node_modules', name))
  return checkout
}

test('a machine without libatomic is told which package to install', {
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
