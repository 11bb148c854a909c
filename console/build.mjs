// Builds the web console into dist/: hashed files under assets/, each with a gzip copy, the service
// worker, the page, and manifest.json for the server. Runs on Node 20.19 or newer: scripts/ready.mjs calls it when a
// source has changed since the last build.
//
//   node console/build.mjs            one build
//   node console/build.mjs --watch    builds after each change, and open pages reload
//   node console/build.mjs --pseudo FOLDER   builds the pseudo-locale for tests

import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, watch, writeFileSync } from 'node:fs'
import { basename, dirname, extname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

const here = dirname(fileURLToPath(import.meta.url))
const root = dirname(here)
const zip = promisify(gzip)

const isSource = (name) => !/\.(?:test\.ts|md)$|(?:^|[/\\])dist(?:[/\\]|$)/.test(name)

/** Returns the paths of all sources of the console. */
const sources = (folder = here) =>
  readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => isSource(name))
    .flatMap((entry) => {
      const path = join(folder, entry.name)
      return entry.isDirectory() ? sources(path) : [path]
    })
    .sort()

/** Returns the hash of what the build depends on: the sources, and the lock file for the libraries. */
export const consoleStamp = () => {
  const hash = createHash('sha256').update(readFileSync(join(root, 'package-lock.json')))
  for (const path of sources()) hash.update(relative(here, path)).update(readFileSync(path))
  return hash.digest('hex')
}

const shared = {
  bundle: true,
  minify: true,
  target: ['chrome125', 'firefox128', 'safari18'],
  platform: 'browser',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none',
  logLevel: 'warning',
  absWorkingDir: root,
  metafile: true,
  write: false,
  charset: 'utf8',
}

/** Loads esbuild with the first build: a start that builds nothing does not wait for it. */
const build = async (options) => (await import('esbuild')).build(options)

/** Returns the patterns of paths.ts by name. */
const pathPatterns = async () => {
  const { outputFiles } = await build({ ...shared, entryPoints: [join(here, 'paths.ts')], format: 'esm' })
  const { paths } = await import(`data:text/javascript,${encodeURIComponent(outputFiles[0].text)}`)
  return new Map(Object.entries(paths).map(([name, { pattern }]) => [name, pattern]))
}

const routeLine = /\bpath: paths\.(\w+)[\s\S]*?import\('(\.\/[^']+)'\)/g

/** Returns the sources of pages by the pattern of their address, as the lists of routes of the sections say. */
const pageSources = async () => {
  const patterns = await pathPatterns()
  return sources()
    .filter((path) => basename(path) === 'routes.ts')
    .flatMap((path) =>
      [...readFileSync(path, 'utf8').matchAll(routeLine)].map(([, name, source]) => {
        const pattern = patterns.get(name)
        if (pattern === undefined) throw new Error(`${path}: paths.ts has no ${name}`)
        return [pattern, relative(root, join(dirname(path), source)).replaceAll('\\', '/')]
      }),
    )
}

const lazyImport = /\bimport\('(\.[^']+)'\)/g

/** Files that the usable inbox consists of, with the entry. They do without the parts of other pages. */
const firstFiles = new Set(
  ['inbox/inbox-page.tsx', 'inbox/thread-pane.tsx', 'live/attention.ts'].map((file) => join(here, file)),
)

/**
 * Keeps the number of files small. esbuild makes a file for each set of modules that the same entries use, and every
 * lazy module is an entry. So each of them imports the entry of the console: the frame and the parts that all pages
 * use become one file. The parts that most pages use become a second one.
 */
const sharedModules = () => {
  const lazy = new Map(
    sources()
      .filter((path) => /\.tsx?$/.test(path))
      .flatMap((path) =>
        [...readFileSync(path, 'utf8').matchAll(lazyImport)].map(([, source]) => [join(dirname(path), source), path]),
      ),
  )
  // The parts of a large page, such as the thread of the inbox, share the file of their page too.
  const pageOf = (path) => {
    const importer = lazy.get(path) ?? ''
    if (basename(importer) === 'routes.ts' || dirname(importer) !== dirname(path)) return []
    return [...lazy].flatMap(([page, from]) =>
      basename(from) === 'routes.ts' && dirname(page) === dirname(path) && page !== path ? [page] : [],
    )
  }
  const added = (path) =>
    [join(here, 'main.tsx'), ...(firstFiles.has(path) ? [] : [join(here, 'common-pages.ts')]), ...pageOf(path)]
      .map((each) => `import ${JSON.stringify(each)}`)
      .join('\n')
  return {
    name: 'shared modules',
    setup: ({ onLoad }) =>
      onLoad({ filter: /\.tsx?$/ }, ({ path }) =>
        lazy.has(path)
          ? { contents: `${readFileSync(path, 'utf8')}\n${added(path)}`, loader: extname(path).slice(1) }
          : undefined,
      ),
  }
}

/** Length from which a file has a compressed copy: a shorter one takes two packets at most. */
const worthZipping = 1_800

/** Returns the files that a file of the build loads before it runs, itself first. */
const staticFiles = (outputs, file, seen = new Set()) => {
  if (seen.has(file)) return []
  seen.add(file)
  const next = (outputs[file]?.imports ?? []).filter(({ kind }) => kind === 'import-statement')
  return [file, ...next.flatMap(({ path }) => staticFiles(outputs, path, seen))]
}

/** Folders, or files, whose styles are loaded with their pages. The styles of all others are in the first file. */
const lazyStyles = {
  calls: 'pages',
  channels: 'pages',
  contacts: 'pages',
  'inbox/message-content': 'pages',
  logs: 'pages',
  money: 'pages',
  numbers: 'pages',
  phone: 'shell',
  start: 'pages',
}

/** Builds a file of styles for each of these folders, in the layer that style.css would give it. */
const buildStyles = async (outdir) => {
  const builds = Object.entries(lazyStyles).map(async ([folder, layer]) => {
    const name = basename(folder)
    const contents = `@import "./${folder === name ? `${name}/${name}` : folder}.css" layer(${layer});`
    const { outputFiles } = await build({
      ...{ ...shared, outdir, metafile: false, entryNames: `${name}-[hash]` },
      stdin: { contents, resolveDir: here, loader: 'css', sourcefile: `${name}.css` },
    })
    const [output] = outputFiles
    return { folder, file: `assets/${basename(output.path)}`, contents: output.contents }
  })
  return await Promise.all(builds)
}

/** Writes the files of a build, then its manifest, and removes the assets of the build before. */
const writeBuild = async ({ dist, files, manifest, isCompressed }) => {
  const assets = join(dist, 'assets')
  mkdirSync(assets, { recursive: true })
  const written = new Set()
  for (const [name, contents] of files) {
    writeFileSync(join(dist, name), contents)
    written.add(join(dist, name))
    if (!isCompressed || contents.length < worthZipping) continue
    // Brotli would save an eighth more, but browsers accept it over HTTPS alone.
    writeFileSync(join(dist, `${name}.gz`), await zip(contents, { level: 9 }))
    written.add(join(dist, `${name}.gz`))
  }
  // The server reads the manifest at any time: it is replaced at once, after the files that it names.
  writeFileSync(join(dist, 'manifest.json.new'), JSON.stringify(manifest))
  renameSync(join(dist, 'manifest.json.new'), join(dist, 'manifest.json'))
  for (const name of readdirSync(assets)) if (!written.has(join(assets, name))) rmSync(join(assets, name))
}

/** @param isDev leaves out compression, and makes open pages reload after a build
 *  @param isPseudo a build for tests, in the pseudo-locale and without compression */
export const buildConsole = async ({ isDev = false, isPseudo = false, dist = join(here, 'dist') } = {}) => {
  const outdir = join(dist, 'assets')
  const styles = await buildStyles(outdir)
  const addresses = styles.map(({ folder, file }) => [folder, `/console/${file}`])
  const define = {
    DEV: String(isDev),
    PSEUDO: String(isPseudo),
    STYLES: JSON.stringify(Object.fromEntries(addresses)),
  }
  const assets = { ...shared, define, outdir, entryNames: '[name]-[hash]', chunkNames: '[name]-[hash]' }
  const [pages, theme] = await Promise.all([
    build({
      ...assets,
      entryPoints: [join(here, 'main.tsx'), join(here, 'style.css')],
      format: 'esm',
      splitting: true,
      plugins: [sharedModules()],
      loader: { '.svg': 'file' },
      assetNames: '[name]-[hash]',
      publicPath: '/console/assets',
    }),
    build({ ...assets, entryPoints: [join(here, 'theme.ts')], format: 'iife' }),
  ])
  const outputs = { ...pages.metafile.outputs, ...theme.metafile.outputs }
  const nameOf = (path) => `assets/${basename(path)}`
  const entry = (source) => {
    const [path] = Object.entries(outputs).find(([, { entryPoint }]) => entryPoint === source) ?? []
    if (path === undefined) throw new Error(`the build has no ${source}`)
    return path
  }
  // The file with the code of main.tsx: the entry itself only imports it.
  const [main = ''] = Object.entries(outputs).find(([, { inputs }]) => 'console/main.tsx' in inputs) ?? []
  const entryFiles = staticFiles(outputs, main)
  const icon = readFileSync(join(here, 'icon.svg'))
  const iconFile = `icon-${createHash('sha256').update(icon).digest('hex').slice(0, 8)}.svg`
  const files = [...pages.outputFiles, ...theme.outputFiles].map(({ path, contents }) => [nameOf(path), contents])
  files.push(...styles.map(({ file, contents }) => [file, contents]))
  files.push([`assets/${iconFile}`, icon])
  const webManifest = readFileSync(join(here, 'manifest.webmanifest'), 'utf8').replace(
    '$icon',
    `/console/assets/${iconFile}`,
  )
  files.push(['assets/manifest.webmanifest', Buffer.from(webManifest)])

  const id = createHash('sha256')
    .update(
      files
        .map(([name]) => name)
        .sort()
        .join(),
    )
    .update(webManifest)
    .digest('hex')
    .slice(0, 12)
  const worker = await build({
    ...shared,
    entryPoints: [join(here, 'sw.ts')],
    format: 'iife',
    define: {
      ...define,
      BUILD: JSON.stringify(id),
      ASSETS: JSON.stringify(files.map(([name]) => basename(name)).filter((name) => /\.(?:js|css|svg)$/.test(name))),
    },
  })
  files.push(['sw.js', worker.outputFiles[0].contents])
  if (isDev) files.push(['assets/build.txt', Buffer.from(id)])

  const page = readFileSync(join(here, 'index.html'), 'utf8')
    .replaceAll(/^ +/gm, '')
    .replace('$style', `/console/${nameOf(entry('console/style.css'))}`)
    .replace('$theme', `/console/${nameOf(entry('console/theme.ts'))}`)
    .replace('$main', `/console/${nameOf(main)}`)
    .replace('$icon', `/console/assets/${iconFile}`)
    .replace('$build', id)
  const routes = (await pageSources()).map(([pattern, source]) => [
    pattern,
    staticFiles(outputs, entry(source))
      .filter((file) => !entryFiles.includes(file))
      .map(nameOf),
  ])
  const manifest = {
    build: id,
    isDev,
    entry: entryFiles.map(nameOf),
    style: nameOf(entry('console/style.css')),
    routes,
    page,
  }

  await writeBuild({ dist, files, manifest, isCompressed: !isDev && !isPseudo })
  return manifest
}

const watchSources = async () => {
  const attempt = async () => {
    const started = Date.now()
    try {
      await buildConsole({ isDev: true })
      console.error(`console: built in ${Date.now() - started} ms`)
    } catch (error) {
      console.error(`console: build failed: ${error.message}`)
    }
  }
  rmSync(join(here, 'dist', '.stamp'), { force: true })
  await attempt()
  let timer
  watch(here, { recursive: true }, (_event, name) => {
    if (!name || !isSource(name) || extname(name) === '') return
    clearTimeout(timer)
    timer = setTimeout(attempt, 50)
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [option, folder] = process.argv.slice(2)
  if (option === '--watch') await watchSources()
  else if (option === '--pseudo') await buildConsole({ isPseudo: true, dist: folder })
  else await buildConsole()
}
