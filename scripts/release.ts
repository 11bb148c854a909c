import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { writeArtefacts } from './releases/artefacts.ts'
import { readOptions } from './releases/options.ts'
import { makeProgram } from './releases/program.ts'
import { releases, run } from './releases/releases.ts'
import { startBy } from './releases/started-platform.ts'
import { callFromBrowser } from './releases/try-in-browser.ts'
import { checkPackage, compileExamples, install, installTools, runExamples } from './releases/try-packages.ts'

const help = `npm run release -- --dry-run [--out FOLDER] [--tag TAG]

Makes a release: builds and packs the packages, installs them in an empty folder, starts a platform from them, runs the
examples of their READMEs on each runtime, and writes notes, openapi.json, a bill of materials, licences and checksums.
Nothing is published: RELEASE.md says what comes next.

  --dry-run      leaves docs/releases.json as it is, and prints the line for it
  --out FOLDER   where the packages go    (default: dist/release)
  --tag TAG      refuses any tag but that of the version
  --help         prints this text`

const values = readOptions(help, {
  'dry-run': { type: 'boolean', default: false },
  out: { type: 'string', default: 'dist/release' },
  tag: { type: 'string' },
})

const root = join(import.meta.dirname, '..')
const out = resolve(root, values.out)
const work = mkdtempSync(join(tmpdir(), 'trunkline-release-'))
const began = performance.now()
const report = (text: string) =>
  console.log(`${((performance.now() - began) / 1000).toFixed(0).padStart(4)} s  ${text}`)

const { version }: { version: string } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
if (values.tag !== undefined && values.tag !== `v${version}`) {
  console.error(
    `npm run release: package.json has version ${version}, so the tag must be v${version}, not ${values.tag}`,
  )
  process.exit(2)
}
const published = ['packages/client', 'packages/voice-sdk']

/** The line of this release in docs/releases.json. */
const releaseLine = (): string => {
  const migrations = readdirSync(join(root, 'src/platform/db/migrations'))
  const names = migrations.filter((name) => /^\d{8}T\d{6}_.*\.sql$/.test(name)).map((name) => name.replace('.sql', ''))
  const last = names.sort().at(-1) ?? releases().at(-1)?.last_migration
  const commit = run('git', ['rev-parse', 'HEAD'], root).trim()
  const date = new Date().toISOString().slice(0, 10)
  return `  { "version": "${version}", "commit": "${commit}", "last_migration": "${last}", "date": "${date}" }`
}

/** Packs a folder. @returns the path of the tarball */
const pack = (folder: string): string => {
  const [{ filename }]: [{ filename: string }] = JSON.parse(
    run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', out], folder),
  )
  return join(out, filename)
}

const build = (): string[] => {
  for (const folder of published) {
    const manifest: { version: string } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
    if (manifest.version !== version) throw new Error(`${folder} has version ${manifest.version}, not ${version}`)
    run('npm', ['run', 'build'], join(root, folder))
  }
  makeProgram(root, join(work, 'program'))
  rmSync(out, { recursive: true, force: true })
  mkdirSync(out, { recursive: true })
  return [...published.map((folder) => join(root, folder)), join(work, 'program')].map(pack)
}

try {
  const tarballs = build()
  report(`packed ${tarballs.length} packages of version ${version}`)
  const [tools, project] = [join(work, 'tools'), join(work, 'project')]
  installTools(tools)
  for (const tarball of tarballs) checkPackage(tools, tarball)
  report('publint and @arethetypeswrong/cli found nothing')
  install(project, tarballs)
  report('installed the packages in an empty folder')
  report(`compiled ${compileExamples(tools, project, root)} examples strictly, as ES modules and CommonJS`)
  const platform = await startBy('npx --no-install trunkline', project)
  report(`npx trunkline started a platform at ${platform.url}`)
  try {
    for (const one of runExamples(tools, project, root, platform)) report(`ran ${one}`)
    const called = await callFromBrowser(project, platform)
    report(called === null ? 'SKIPPED the call from a browser: Chromium is missing' : `called ${called} from a browser`)
    run('npx', ['--no-install', 'trunkline', '--help'], project)
  } finally {
    await platform.stop()
  }
  writeArtefacts(root, version, out, project)
  report(`wrote ${readdirSync(out).join(', ')}`)
  const line = releaseLine()
  if (values['dry-run']) console.log(`\nThe line for docs/releases.json:\n\n${line}`)
  else {
    const path = join(root, 'docs/releases.json')
    writeFileSync(path, readFileSync(path, 'utf8').replace(/\s*\]\s*$/, `,\n${line}\n]\n`))
    console.log('\nAdded the release to docs/releases.json: commit it.')
  }
} finally {
  rmSync(work, { recursive: true, force: true })
}
