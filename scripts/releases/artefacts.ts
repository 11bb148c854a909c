import { createHash } from 'node:crypto'
import { cpSync, existsSync, globSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { run } from './releases.ts'

// The files beside the published packages: notes, the OpenAPI document, a bill of materials, licences and checksums.

/**
 * Returns the notes of a version: its part of CHANGELOG.md, or the part of the next version while none has its number.
 * @throws Error when there is neither
 */
export const notesOf = (changelog: string, version: string): string => {
  const parts = changelog.split(/^## /m).slice(1)
  const part = parts.find((one) => one.startsWith(`${version} `)) ?? parts.find((one) => one.startsWith('Next\n'))
  if (part === undefined) throw new Error(`CHANGELOG.md has neither "## ${version} - DATE" nor "## Next"`)
  return `# Trunkline ${version}\n\n${part.slice(part.indexOf('\n')).trim()}`
}

type Manifest = { readonly name: string; readonly version: string; readonly license?: string }

/** The licence texts of the packages that an installation contains. @throws Error for a package without a licence */
const licencesIn = (installed: string): string => {
  const manifests = globSync('node_modules/{*,@*/*}/package.json', { cwd: installed }).sort()
  const texts = manifests.map((path) => {
    const folder = join(installed, path, '..')
    const { name, version, license }: Manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    if (!license) throw new Error(`${name} states no licence`)
    const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one))
    return `${name} ${version}: ${license}\n${file ? `\n${readFileSync(join(folder, file), 'utf8').trim()}\n` : ''}`
  })
  return texts.join(`\n${'-'.repeat(80)}\n\n`)
}

/**
 * Writes the artefacts of a release beside its packages.
 * @param out the folder that has the packages
 * @param installed a folder in which the packages are installed
 */
export const writeArtefacts = (root: string, version: string, out: string, installed: string): void => {
  writeFileSync(
    join(out, 'release-notes.md'),
    `${notesOf(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'), version)}\n`,
  )
  cpSync(join(root, 'docs/openapi.json'), join(out, 'openapi.json'))
  const bill = run('npm', ['sbom', '--sbom-format', 'cyclonedx', '--omit', 'dev'], installed)
  writeFileSync(join(out, 'sbom.cdx.json'), bill)
  writeFileSync(join(out, 'licenses.txt'), licencesIn(installed))
  const sums = readdirSync(out)
    .filter((name) => name !== 'SHA256SUMS' && existsSync(join(out, name)))
    .sort()
    .map(
      (name) =>
        `${createHash('sha256')
          .update(readFileSync(join(out, name)))
          .digest('hex')}  ${name}\n`,
    )
  writeFileSync(join(out, 'SHA256SUMS'), sums.join(''))
}
