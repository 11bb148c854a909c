import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { test } from 'node:test'

// The house rules about the repository itself. Each guard says how much it saw: one that passes when blind is worse than
// none.

const root = join(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')

const out = new Set(['node_modules', 'data', '.git', '.cache', 'dist'])
const all = globSync(['**/*', '.*', '.ci/*'], { cwd: root, exclude: ({ name }) => out.has(name), withFileTypes: true })
  // In a work tree of git `.git` is a file.
  .filter((entry) => entry.isFile() && entry.name !== '.git')
  .map((entry) => posix.relative(root, posix.join(entry.parentPath, entry.name)))
  .sort()

const sources = all.filter((path) => /\.tsx?$/.test(path) && !path.endsWith('.d.ts'))
const isTest = (path: string) => /\.(?:test|conformance|worker-fixture)\.tsx?$|[/-]testing\.ts$/.test(path)

type Import = { from: string; to: string; isType: boolean; isExport: boolean; isDynamic: boolean }

/** Formatted by Biome, every import begins a line; a dynamic one may stand anywhere. */
const statement = /^(import|export) (type )?(?:[^'";]*? from )?'([^']+)'|(\btypeof )?\bimport\('([^']+)'\)/gm

/** The file that an import means: of this repository by its path, of a library by its name. */
const targetOf = (from: string, target: string): string =>
  target.startsWith('.')
    ? posix.join(posix.dirname(from), target)
    : target.replace(/^@trunkline\/([\w-]+)\//, 'packages/$1/src/')

const imports: Import[] = sources.flatMap((from) =>
  [...read(from).matchAll(statement)].map(([, word, type, fixed, isTypeof, dynamic]) => ({
    from,
    to: targetOf(from, fixed ?? dynamic ?? ''),
    isType: (type ?? isTypeof) !== undefined,
    isExport: word === 'export',
    isDynamic: dynamic !== undefined,
  })),
)
const own = imports.filter(({ to }) => sources.includes(to))

const top = (path: string) => path.split('/')[0] ?? ''

/** `src/domains/sms/store.ts` → `domains`; a file of src itself → its own name. */
const layerOf = (path: string) => (path.startsWith('src/') ? (path.split('/')[1] ?? '') : top(path))

/** `src/domains/sms/store.ts` → `domains/sms`, `packages/sip/src/uri.ts` → `packages/sip`. */
const unitOf = (path: string) =>
  path
    .replace(/^src\//, '')
    .split('/')
    .slice(0, 2)
    .join('/')

/** Files that assemble the program, and so know every layer. */
const assembly = [
  'main',
  'interfaces/cli/main',
  'start-roles',
  'assemble',
  'assemble-programs',
  'services',
  'endpoints',
  'bootstrap',
  'reload',
  'contracts',
  'event-payloads',
].map((name) => `src/${name}.ts`)
const settings = ['config', 'config-voice', 'log', 'check-ports', 'role-paths', 'tls-files'].map(
  (name) => `src/${name}.ts`,
)

/** Units of the platform that each unit of it may import. */
const below: Record<string, string[]> = { lib: [], db: ['lib'], http: ['lib', 'db'], jobs: ['lib', 'db'] }

/** Codecs of adapters, which the other end of a protocol may use. */
const codecs = /^src\/adapters\/[\w-]+\/codec/

/** Files of a domain that turn stored connections into running adapters. */
const startsAdapters = /\/(?:carriers|supplier-registry|drivers|voice-drivers)\.ts$/

/** Folders of the console that every section may import. */
const sharedByPages = new Set(['api', 'icons', 'live', 'parts', 'shell', 'words'])

/** `console/developers/api-keys.tsx` → `developers`; a file of console/ itself → its own name. */
const consoleUnit = (path: string) => path.split('/')[1] ?? ''

/** The reason why the console may not import a file, or null. */
const consoleFault = ({ from, to, isType }: Pick<Import, 'from' | 'to' | 'isType'>): string | null => {
  if (top(to) === 'src')
    return isType && /contract\.ts$/.test(to) ? null : 'of the server the console knows types of contracts only'
  // The telephone loads the built SDK from the server, and has its types from the source.
  if (isType && to === 'packages/voice-sdk/src/index.ts') return null
  if (top(to) !== 'console') return 'the console knows itself and contracts'
  const [here, there] = [consoleUnit(from), consoleUnit(to)]
  // Files of console/ itself assemble the console.
  if (here === there || here.includes('.') || sharedByPages.has(there)) return null
  if (there === 'paths.ts') return null
  const isFrame = here === 'shell' && ['router.tsx', 'sections.ts', 'session', 'phone'].includes(there)
  return isFrame ? null : 'a section knows the shared folders and paths.ts, not other sections'
}

/** The reason why an import is not allowed, or null. */
const fault = ({ from, to, isType }: Import): string | null => {
  const [here, there] = [layerOf(from), layerOf(to)]
  if (to === 'src/main.ts') return 'nothing imports main'
  if (isTest(to) && !isTest(from) && top(from) === 'src') return 'the program does not import its tests'
  if (isTest(from) || ['bench', 'scripts'].includes(here)) return null
  if (from.startsWith('test/doubles/'))
    return to.startsWith('test/doubles/') || to.startsWith('src/platform/lib/') || codecs.test(to)
      ? null
      : 'a double knows doubles, platform/lib and the codecs of adapters'
  if (here === 'test') return null
  if (here === 'console') return consoleFault({ from, to, isType })
  if (unitOf(from) === unitOf(to)) return null
  if (here === 'packages') return there === 'packages' ? null : 'a package knows other packages only'
  if (there === 'packages' && unitOf(to) !== 'packages/voice-sdk') return null
  if (here === 'simulator')
    return there === 'simulator' || to.startsWith('src/platform/lib/') || codecs.test(to)
      ? null
      : 'the simulator knows packages, platform/lib and the codecs of adapters'
  if (top(to) !== 'src') return 'the program imports only its own'
  if (assembly.includes(from)) {
    if (/\/store\.ts$/.test(to)) return 'store.ts is private to its folder'
    if (/\/routes\.ts$/.test(to) && !['src/endpoints.ts', 'src/start-roles.ts'].includes(from))
      return 'routes.ts is private'
    return null
  }
  if (settings.includes(from)) return there === 'platform' || settings.includes(to) ? null : 'settings know platform'
  if (here === 'platform') {
    const [ours = '', theirs = ''] = [from, to].map((path) => path.split('/')[2])
    return there === 'platform' && below[ours]?.includes(theirs) ? null : `platform/${ours} knows ${below[ours]}`
  }
  if (there === 'ports') return isType ? null : 'ports are types only'
  if (here === 'ports') return 'ports know packages and ports'
  if (here === 'adapters')
    return to.startsWith('src/platform/lib/') || to === 'src/adapters/carrier-registry.ts'
      ? null
      : 'adapters know packages, ports and platform/lib, not each other'
  // Below here: domains and interfaces.
  if (there === 'platform') return null
  if (there === 'adapters') return startsAdapters.test(from) ? null : 'a domain knows adapters by their ports'
  // The site shows the document of the interface.
  if (/^src\/(?:contracts|event-payloads|tags)\.ts$/.test(to) && from.startsWith('src/interfaces/site/')) return null
  if ([...settings, 'src/services.ts'].includes(to))
    return isType ? null : 'services are handed over: import their type'
  return ['domains', 'interfaces'].includes(there) && /\/(?:contract|ops|refusals)\.ts$/.test(to)
    ? null
    : 'another domain shows its contract.ts, ops.ts and refusals.ts only'
}

test('only those import whom the house allows to', () => {
  assert.ok(sources.length >= 150, `saw only ${sources.length} files`)
  assert.ok(own.length >= 400, `saw only ${own.length} imports`)
  const faults = own.flatMap((one) => {
    const why = fault(one)
    return why ? [`${one.from} imports ${one.to}: ${why}`] : []
  })
  assert.deepEqual(faults, [])
})

/** Words of the protocols of carriers, which their adapters translate. */
const protocolWord =
  /\b(?:smpp|(?:un)?binds?|bound|(?:submit|deliver|data|query)_sm|ESME_\w+|esm_class|data_coding|tlvs?)\b/i

test('the ports and SMS know no protocol of a carrier', () => {
  const ports = sources.filter((path) => path.startsWith('src/ports/'))
  const sms = sources.filter((path) => path.startsWith('src/domains/sms/') && !isTest(path))
  assert.ok(ports.length >= 7 && sms.length >= 40, `saw only ${ports.length} and ${sms.length} files`)
  assert.deepEqual(
    ports.flatMap((path) =>
      [...read(path).matchAll(new RegExp(protocolWord, 'gi'))].map(([word]) => `${path}: ${word}`),
    ),
    [],
  )
  // The table of drivers alone names them.
  const table = 'src/domains/sms/drivers.ts'
  const foreign = imports.filter(
    ({ from, to }) =>
      (ports.includes(from) || sms.includes(from)) &&
      (to.startsWith('packages/smpp/') || (/^src\/adapters\/[\w-]+\//.test(to) && from !== table)),
  )
  assert.deepEqual(
    foreign.map(({ from, to }) => `${from} imports ${to}`),
    [],
  )
})

test('no file imports itself through others, by values or by types', () => {
  const next = Map.groupBy(own, ({ from }) => from)
  const done = new Set<string>()
  const cycles: string[] = []
  const walk = (path: string, trail: string[]) => {
    if (trail.includes(path)) cycles.push([...trail.slice(trail.indexOf(path)), path].join(' → '))
    if (done.has(path) || trail.includes(path)) return
    for (const { to } of next.get(path) ?? []) walk(to, [...trail, path])
    done.add(path)
  }
  for (const path of sources) walk(path, [])
  assert.deepEqual(cycles, [])
})

/** Modules that few installations need at once. Each costs 3 to 35 ms of a start: decision 0038. */
const loadedLater = [
  ...['didww/didww-supplier', 'sandbox/sandbox-network', 'xmpp/xmpp-network'].map((name) => `src/adapters/${name}.ts`),
  ...['whatsapp-cloud', 'whatsapp-web'].map((name) => `src/adapters/${name}/${name}-network.ts`),
  ...['documents', 'reference', 'markdown'].map((name) => `src/interfaces/site/${name}.ts`),
  'src/adapters/smtp/smtp-transport.ts',
  ...['bson', 'marked', 'node:http', 'nodemailer', 'saxes', 'undici'],
]

/** The files and packages that a start loads. */
const loadedAtStart = (): ReadonlySet<string> => {
  const next = Map.groupBy(
    // src/main.ts loads most of the code while PostgreSQL starts.
    imports.filter(({ isType, isDynamic, from }) => !isType && (!isDynamic || from === 'src/main.ts')),
    ({ from }) => from,
  )
  const loaded = new Set(['src/main.ts'])
  for (const path of loaded) for (const { to } of next.get(path) ?? []) loaded.add(to)
  assert.ok(loaded.size >= 700, `saw only ${loaded.size} files`)
  return loaded
}

test('a start loads packages from the pack alone', () => {
  const list = /packedImports = \[([^\]]*)\]/.exec(read('scripts/pack.mjs'))?.[1] ?? ''
  const packed = [...list.matchAll(/'([^']+)'/g)].map(([, specifier]) => specifier)
  assert.ok(packed.length > 10, `saw only ${packed.length} packages`)
  const packages = [...loadedAtStart()].filter((path) => !path.startsWith('node:') && !sources.includes(path))
  assert.ok(packages.length > 5, `saw only ${packages.length} packages`)
  assert.deepEqual(
    packages.filter((specifier) => !packed.includes(specifier)),
    [],
  )
})

test('a start loads no chat network, supplier or document before its first use', () => {
  const loaded = loadedAtStart()
  assert.deepEqual(
    loadedLater.filter((path) => loaded.has(path)),
    [],
  )
  assert.deepEqual(
    loadedLater.filter((path) => path.endsWith('.ts') && !sources.includes(path)),
    [],
  )
})

test('no file passes on what another one exports but the door of a package, and none has a default export', () => {
  const isDoor = (path: string) => /^packages\/[\w-]+\/src\/index\.ts$/.test(path)
  const passed = imports.filter(({ isExport, from }) => isExport && !isDoor(from)).map(({ from }) => from)
  // Vite and Node ask for theirs.
  const isAsked = (path: string) => path.endsWith('vite.config.ts') || path === 'scripts/tests/reporter.ts'
  const defaults = sources.filter((path) => /^export default\b/m.test(read(path)) && !isAsked(path))
  assert.deepEqual([...passed, ...defaults], [])
})

/** The few that are long, and why they may be. */
const long: Record<string, string> = {
  'test/linear.test.ts': 'one table of adversarial inputs for every reader',
}

test('files are at most 500 lines long, the median about 100', () => {
  const lengths = sources.map((path) => [path, read(path).split('\n').length] as const)
  const over = lengths.filter(([path, lines]) => lines > 501 && !path.endsWith('.gen.ts') && !(path in long))
  assert.deepEqual(over, [])
  assert.ok(Object.keys(long).length <= 6, 'a list of exceptions is short')
  for (const path of Object.keys(long)) assert.ok(sources.includes(path), `${path} is gone: take it off the list`)
  const ordered = lengths.map(([, lines]) => lines).sort((a, b) => a - b)
  assert.ok((ordered[ordered.length >> 1] ?? 0) <= 140)
})

test('the console writes no styles and no HTML as text, and its sections are known to each other by address only', () => {
  const pages = sources.filter((path) => path.startsWith('console/') && path.endsWith('.tsx'))
  assert.ok(pages.length >= 30, `saw only ${pages.length} files`)
  const forbidden = /\bstyle="|\binnerHTML\b|\bouterHTML\b|dangerouslySetInnerHTML|insertAdjacentHTML|document\.write\b/
  assert.deepEqual(
    pages.filter((path) => forbidden.test(read(path))),
    [],
  )
})

test('each decision has a number of its own', () => {
  const numbers = all.flatMap((path) => /^docs\/decisions\/(\d{4})-/.exec(path)?.[1] ?? [])
  assert.ok(numbers.length >= 15, `saw only ${numbers.length}`)
  assert.deepEqual(numbers, [...new Set(numbers)])
})

const texts = all.filter((path) => /\.(?:tsx?|mjs|js|json|sql|md|sh|css|html|ya?ml|npmrc)$|^\.|^bin\//.test(path))

test('nothing tells of the machine on which it was written', () => {
  assert.ok(texts.length >= 200, `saw only ${texts.length} files`)
  const home = /(?:^|[\s"'`(=])\/(?:work|home|root|Users|tmp)\/[\w.]+\//m
  const registry =
    /"resolved": "(?!packages\/|https:\/\/registry\.npmjs\.org\/)|\/\/(?:[\w-]+\.)*(?:artifactory|nexus|jfrog|verdaccio)\b/
  const found = texts.filter((path) => {
    if (path === 'test/repository.test.ts') return false
    const text = read(path)
    return home.test(text) || registry.test(text)
  })
  assert.deepEqual(found, [])
})

test('no table that is read by names from outside is an object, which inherits names: it is a Map', () => {
  const table = /^(?:export )?const \w+: (?:Readonly<)?(?:Record<string,|\{ (?:readonly )?\[\w+: string\])/m
  const program = sources.filter((path) => path.startsWith('src/') && !isTest(path))
  assert.ok(program.length >= 300, `saw only ${program.length} files`)
  assert.deepEqual(
    program.filter((path) => table.test(read(path))),
    [],
  )
})

test('no tracked file is binary or larger than 1 MiB, but for small pictures of the documentation', () => {
  // Git ignores the document that scripts/ready.mjs makes, and core dumps of programs that a test killed.
  const tracked = all.filter((path) => path !== 'docs/openapi.json' && !/^core(?:\.\d+)?$/.test(path))
  const faults = tracked.filter((path) => {
    const bytes = readFileSync(join(root, path))
    if (path.startsWith('docs/images/')) return !path.endsWith('.png') || bytes.length > 150_000
    return bytes.subarray(0, 8_000).includes(0) || bytes.length > 1_048_576
  })
  assert.deepEqual(faults, [])
})

test('nothing is left for later, and no type is waved through', () => {
  const marks = new RegExp(`\\b(?:TO${'DO'}|FIX${'ME'})\\b`)
  const waved = /@ts-(?:ignore|nocheck|expect-error)|biome-ignore lint\/suspicious\/noExplicitAny/
  /** A test looks into bodies of every shape. Biome refuses every other `any`. */
  const anys = new Set(['test/world.ts', 'test/platform.ts', 'test/hooks.ts', 'test/repository.test.ts'])
  assert.deepEqual(
    sources.filter((path) => path !== 'test/repository.test.ts' && marks.test(read(path))),
    [],
  )
  assert.deepEqual(
    sources.filter((path) => !anys.has(path) && waved.test(read(path))),
    [],
  )
})

type Manifest = { dependencies: Record<string, string>; [part: string]: Record<string, string> }

test('dependencies are few, pinned exactly, and under licences that let one use them', () => {
  const manifest: Manifest = JSON.parse(read('package.json'))
  const { dependencies, devDependencies = {}, optionalDependencies = {} } = manifest
  // What the browser SDK is built from, at the first start, is none of the server's.
  const sdk: Manifest = JSON.parse(read('packages/voice-sdk/package.json'))
  const built = Object.entries(sdk.devDependencies ?? {})
  // Nor is what only the console is built from, or what only browsers load from /docs.
  const ofDocs = ['swagger-ui-dist', 'minisearch']
  const importers = Map.groupBy(imports, ({ to }) => /^(?:@[^/]+\/)?[^/]+/.exec(to)?.[0] ?? '')
  const inPages = Object.keys(dependencies).filter(
    (name) => ofDocs.includes(name) || importers.get(name)?.every(({ from }) => top(from) === 'console'),
  )
  assert.ok(Object.keys(dependencies).length - built.length - inPages.length <= 27)
  for (const [name, version] of built) assert.equal(dependencies[name], version, `${name} of the SDK`)
  const versions = Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies })
  assert.ok(versions.length >= 20)
  assert.deepEqual(
    versions.filter(([, version]) => !/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version)),
    [],
  )
  const permissive = /^(?:MIT|MIT-0|ISC|Apache-2\.0|BSD-[23]-Clause|0BSD|BlueOak-1\.0\.0|Unlicense|PostgreSQL)$/
  const lock: { packages: Record<string, { license?: string; dev?: boolean; link?: boolean }> } = JSON.parse(
    read('package-lock.json'),
  )
  const run = Object.entries(lock.packages).filter(([path, { dev, link }]) => path !== '' && !dev && !link)
  assert.ok(run.length >= 50, `saw only ${run.length} packages`)
  const odd = run.filter(([path, { license = 'none' }]) => {
    const choices = license.replace(/[()]/g, '').split(' OR ')
    return !choices.some((choice) => choice.split(' AND ').every((each) => permissive.test(each))) && path
  })
  assert.deepEqual(
    odd.map(([path, { license }]) => `${path}: ${license}`),
    [],
  )
})
