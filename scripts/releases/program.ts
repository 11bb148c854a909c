import { execFileSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join, posix } from 'node:path'

// The package `trunkline`: the tree of the checkout with JavaScript in place of TypeScript, as Node strips no types under
// node_modules. Lines and columns stay, so that stack traces name the sources.

/** Tracked files that the package has. */
const shipped = [
  ...['src', 'simulator', 'packages/*/src/*', 'packages/voice-sdk/example', 'docs', 'bin', 'deploy'],
  ...['README.md', 'CHANGELOG.md', 'LICENSE', 'SECURITY.md', 'GLOSSARY.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md'],
]

/** Files that scripts/ready.mjs has made: they are not tracked. */
const built = [
  'console/dist',
  'packages/voice-sdk/dist',
  'docs/openapi.json',
  'src/interfaces/cli/contracts.json',
] as const

/** Tests, what only they import, and packages that are published on their own. */
const left = /\.test\.tsx?$|testing\.ts$|\.conformance\.ts$|-fixture\.ts$|^packages\/(?:client|voice-sdk)\/src\//

const importedFile = /(['"])((?:\.{1,2}\/|@trunkline\/)[^'"\n]*)\.ts\1/g
const importedPackage = /(?:from |import\(|import |require\(|resolve\()'((?:@[^/']+\/)?[^./'][^/']*)[^']*'/g

/** Names of packages that our own code imports. */
type Imports = Set<string>

/** Turns a TypeScript file into JavaScript, whose imports are relative paths. */
const javaScriptOf = (path: string, text: string, imports: Imports): string => {
  const code = stripTypeScriptTypes(text).replaceAll(importedFile, (_, quote: string, from: string) => {
    const [, name, file] = /^@trunkline\/([^/]+)\/(.+)$/.exec(from) ?? []
    if (name === undefined) return `${quote}${from}.js${quote}`
    const relative = posix.relative(posix.dirname(path), `packages/${name}/src/${file}.js`)
    return `${quote}${relative.startsWith('.') ? relative : `./${relative}`}${quote}`
  })
  for (const [, name = ''] of code.matchAll(importedPackage)) if (!name.startsWith('node:')) imports.add(name)
  return code
}

type Manifest = {
  readonly optionalDependencies: Record<string, string>
  readonly [field: string]: unknown
}

/** The versions of packages that the manifests of the checkout name. */
const versionsOf = (root: string): Map<string, string> =>
  new Map(
    globSync('{packages/*/,}package.json', { cwd: root }).flatMap((path): [string, string][] =>
      Object.entries(JSON.parse(readFileSync(join(root, path), 'utf8')).dependencies ?? {}),
    ),
  )

/**
 * Writes the package into a folder.
 * @param root of a checkout that scripts/ready.mjs has prepared
 */
export const makeProgram = (root: string, folder: string): void => {
  const files = execFileSync('git', ['ls-files', '-z', ...shipped], { cwd: root, encoding: 'utf8' }).split('\0')
  const imports: Imports = new Set(['swagger-ui-dist', 'minisearch'])
  for (const path of files.filter((one) => one !== '' && !left.test(one))) {
    const target = join(folder, path)
    mkdirSync(dirname(target), { recursive: true })
    if (!path.endsWith('.ts')) cpSync(join(root, path), target)
    else writeFileSync(target.replace(/ts$/, 'js'), javaScriptOf(path, readFileSync(join(root, path), 'utf8'), imports))
  }
  for (const path of built) cpSync(join(root, path), join(folder, path), { recursive: true })
  const manifest: Manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const { version, description, license, type, engines, bin, optionalDependencies } = manifest
  const versions = versionsOf(root)
  const dependencies = Object.fromEntries(
    [...imports].sort().flatMap((name) => (versions.has(name) ? [[name, versions.get(name)]] : [])),
  )
  const fields = { name: 'trunkline', version, description, license, type, engines, bin }
  writeFileSync(
    join(folder, 'package.json'),
    `${JSON.stringify({ ...fields, dependencies, optionalDependencies }, null, 2)}\n`,
  )
}
