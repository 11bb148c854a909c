// Prepares the checkout: installs missing or stale dependencies and prints each step.
// Runs on the machine's own Node (20.19 or newer), so it is plain JavaScript with `node:` imports only.
//
//   node scripts/ready.mjs          dependencies of `npm start`
//   node scripts/ready.mjs --dev    also those of `npm test`

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { pinnedNode } from '../bin/pinned-node.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const modules = join(root, 'node_modules')
const stamp = join(modules, '.trunkline-stamp')
const dev = process.argv[2] === '--dev'

const say = (text) => console.error(`trunkline: ${text}`)

const fail = (text) => {
  say(text)
  process.exit(1)
}

const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 20 || (major === 20 && minor < 19))
  fail(`Node ${process.versions.node} is too old to bootstrap with; install Node 20.19 or newer.`)

/** Returns the hash of package-lock.json, which identifies the dependencies to install. */
const wanted = () =>
  createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex')

const installed = () => {
  if (!existsSync(stamp)) return null
  const [hash, kind] = readFileSync(stamp, 'utf8').split(' ')
  return { hash, dev: kind === 'dev' }
}

/**
 * Returns whether a manual `npm ci` has installed everything. It leaves no stamp, so npm's copy of the lock file is
 * compared.
 * @param withDev whether the development dependencies must be among them
 */
const installedByHand = (withDev) => {
  const inner = join(modules, '.package-lock.json')
  if (!existsSync(inner)) return false
  const have = JSON.parse(readFileSync(inner, 'utf8')).packages
  const want = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages
  return Object.entries(want).every(
    ([path, { version, optional, devOptional, dev }]) =>
      path === '' || optional || devOptional || (dev && !withDev) || have[path]?.version === version,
  )
}

const npm = () => {
  const beside = process.env.npm_execpath
  if (beside && existsSync(beside) && beside.endsWith('.js')) return [process.execPath, [beside]]
  return [process.platform === 'win32' ? 'npm.cmd' : 'npm', []]
}

const install = () => {
  say('installing dependencies (npm ci) …')
  const started = Date.now()
  const [command, before] = npm()
  const options = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const { status } = spawnSync(command, [...before, ...options, dev ? '--include=dev' : '--omit=dev'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
    shell: command.endsWith('.cmd'),
  })
  if (status !== 0) fail('npm ci failed; see its output above.')
  say(`dependencies installed in ${((Date.now() - started) / 1000).toFixed(1)} s`)
}

/** The bundled Node, as npm scripts and other programs find it. */
const node = join(modules, '.bin', process.platform === 'win32' ? 'node.exe' : 'node')

/**
 * Links the bundled Node into .bin. Several packages declare a bin named `node`, and npm 10 then links none of them.
 */
const linkNode = () => {
  let target
  try {
    target = pinnedNode(root)
  } catch (error) {
    fail(error.message)
  }
  if (existsSync(node)) return
  mkdirSync(dirname(node), { recursive: true })
  if (lstatSync(node, { throwIfNoEntry: false })) rmSync(node)
  // Windows lets only administrators make symbolic links.
  if (process.platform === 'win32') linkSync(target, node)
  else symlinkSync(relative(dirname(node), target), node)
}

/** Debian packages of the shared libraries that the bundled Node needs in addition to the C library. */
const libraryPackages = { 'libatomic.so.1': 'libatomic1', 'libstdc++.so.6': 'libstdc++6', 'libgcc_s.so.1': 'libgcc-s1' }

/** Starts the bundled Node once per installation: minimal images lack a shared library that it needs. */
const tryNode = () => {
  const tried = join(modules, '.trunkline-node-starts')
  if (existsSync(tried)) return
  const { status, stderr, error } = spawnSync(node, ['--version'], { encoding: 'utf8' })
  if (status !== 0) {
    const reason = (error?.message ?? stderr).trim()
    const [library, debian] = Object.entries(libraryPackages).find(([name]) => reason.includes(name)) ?? []
    const fix = debian
      ? `the library ${library} is missing; install it (Debian and Ubuntu: apt-get install ${debian}) and start again.`
      : 'it needs glibc 2.28 or newer; Alpine and other musl systems are not supported.'
    fail(`the bundled Node does not start (${reason}): ${fix}`)
  }
  writeFileSync(tried, '')
}

/** Returns the hash of the sources of a package that is built. */
const sourcesOf = (folder) => {
  const hash = createHash('sha256').update(wanted())
  for (const file of ['build.mjs', 'package.json']) hash.update(readFileSync(join(folder, file)))
  for (const file of readdirSync(join(folder, 'src')).sort())
    hash.update(file).update(readFileSync(join(folder, 'src', file)))
  return hash.digest('hex')
}

/** Runs a build in a process of its own: its remains must not outlive it when the program of npm takes its place. */
const build = (...args) => {
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: ['ignore', 2, 2] })
  if (status !== 0) fail(`${args.join(' ')} failed; see its output above.`)
}

/** Runs the builds of a package if its sources changed. */
const buildPackage = (name, what, builds) => {
  const folder = join(root, 'packages', name)
  const built = join(folder, 'dist', '.stamp')
  const sources = sourcesOf(folder)
  if (existsSync(built) && readFileSync(built, 'utf8') === sources) return
  say(`building ${what} …`)
  for (const args of builds) build(...args)
  writeFileSync(built, sources)
}

/** Builds the web console if its sources changed. */
const buildConsole = async () => {
  const started = Date.now()
  const { consoleStamp } = await import('../console/build.mjs')
  const stamp = consoleStamp()
  const built = join(root, 'console', 'dist', '.stamp')
  if (existsSync(built) && readFileSync(built, 'utf8') === stamp) return
  say('building the web console …')
  build('console/build.mjs')
  writeFileSync(built, stamp)
  say(`web console built in ${((Date.now() - started) / 1000).toFixed(1)} s`)
}

/** Packs the dependencies for faster starts if they changed. Without the pack, Node loads the packages themselves. */
const packDependencies = () => {
  const program = join(root, 'scripts', 'pack.mjs')
  const list = join(modules, '.cache', 'packed', 'files.json')
  const stamp = createHash('sha256').update(wanted()).update(readFileSync(program)).digest('hex')
  if (existsSync(list) && JSON.parse(readFileSync(list, 'utf8')).stamp === stamp) return
  const { status, stderr } = spawnSync(node, [program, stamp], { encoding: 'utf8' })
  if (status !== 0) say(`the dependencies could not be packed, so starts take longer: ${stderr?.trim() ?? ''}`)
}

/** Makes the documents that are not tracked if the contracts changed. */
const makeDocuments = async () => {
  const started = Date.now()
  const documents = await import('./documents.mjs')
  try {
    if (!documents.makeDocuments(root, node)) return
  } catch (error) {
    fail(error.message)
  }
  say(`documents of the contracts made in ${((Date.now() - started) / 1000).toFixed(1)} s`)
}

const have = installed()
const enough = have?.hash === wanted() && (have.dev || !dev)
if (!enough) {
  if (!installedByHand(dev)) install()
  writeFileSync(stamp, `${wanted()} ${dev || installedByHand(true) ? 'dev' : 'run'}`)
}
linkNode()
tryNode()
// Browsers load one file of the SDK, and no TypeScript.
buildPackage('voice-sdk', 'the voice SDK for browsers', [['packages/voice-sdk/build.mjs']])
// `import '@trunkline/client'` works in the checkout; its declarations need the compiler.
const declarations = ['packages/declarations.mjs', 'packages/client', 'packages/client/dist/types']
if (dev) buildPackage('client', 'the client', [['packages/client/build.mjs'], declarations])
await buildConsole()
await makeDocuments()
packDependencies()
