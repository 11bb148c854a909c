import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { notesOf } from '../../scripts/releases/artefacts.ts'
import { longForm } from '../needs.ts'
import { temporaryFolder } from '../servers.ts'

const root = join(import.meta.dirname, '../..')

test('a dry run of a release packs, installs and tries every package, and writes what is published', longForm(), () => {
  const out = join(temporaryFolder(), 'out')
  const before = readFileSync(join(root, 'docs/releases.json'), 'utf8')
  const script = join(root, 'scripts/release.ts')
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', script, '--dry-run', '--out', out],
    { encoding: 'utf8', timeout: 900_000 },
  )
  assert.equal(status, 0, stdout + stderr)
  for (const runtime of ['the Node of this machine', 'the pinned Node', 'Bun', 'Deno'])
    for (const file of ['readme.mjs', 'readme.cjs', 'text.mjs', 'text.cjs'])
      assert.ok(stdout.includes(`ran ${file} on ${runtime}\n`), `${file} on ${runtime}:\n${stdout}`)
  assert.match(stdout, /called \+447700900123 from a browser|SKIPPED the call/)
  assert.equal(readFileSync(join(root, 'docs/releases.json'), 'utf8'), before, 'a dry run writes no release')

  const { version }: { version: string } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const packages = ['trunkline', 'trunkline-client', 'trunkline-voice-sdk'].map((name) => `${name}-${version}.tgz`)
  const others = ['SHA256SUMS', 'licenses.txt', 'openapi.json', 'release-notes.md', 'sbom.cdx.json']
  assert.deepEqual(readdirSync(out).sort(), [...packages, ...others].sort())
  const sums = readFileSync(join(out, 'SHA256SUMS'), 'utf8').trim().split('\n')
  assert.equal(sums.length, packages.length + others.length - 1)
  for (const line of sums) {
    const [sum, name = ''] = line.split('  ')
    assert.equal(
      createHash('sha256')
        .update(readFileSync(join(out, name)))
        .digest('hex'),
      sum,
      name,
    )
  }
  const bill = JSON.parse(readFileSync(join(out, 'sbom.cdx.json'), 'utf8'))
  const names: string[] = bill.components.map(({ name }: { name: string }) => name)
  assert.equal(bill.bomFormat, 'CycloneDX')
  for (const name of ['trunkline', 'fastify', 'pg']) assert.ok(names.includes(name), name)
})

test('the notes are those of the version, or of the next one', () => {
  const changelog =
    '# Changelog\n\n## Next\n\n- new\n\n## 1.1.0 - 2026-01-02\n\n- one\n\n## 1.0.0 - 2026-01-01\n\n- zero\n'
  assert.equal(notesOf(changelog, '1.1.0'), '# Trunkline 1.1.0\n\n- one')
  assert.equal(notesOf(changelog, '1.2.0'), '# Trunkline 1.2.0\n\n- new')
  assert.throws(() => notesOf('# Changelog\n', '1.2.0'), /neither "## 1\.2\.0 - DATE" nor "## Next"/)
})
