import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { lastRelease, readAt, releases, whyAbsent } from '../../scripts/releases/releases.ts'
import { lastUnmarked } from '../../src/platform/db/migration-files.ts'

const folder = 'src/platform/db/migrations'
const root = join(import.meta.dirname, '../..')

/** Digests by file, from lines as `sha256sum` prints them. */
const parse = (text: string): Map<string, string> =>
  new Map(
    text
      .trim()
      .split('\n')
      .map((line) => [line.slice(66), line.slice(0, 64)]),
  )

const listed = parse(readFileSync(join(root, folder, 'landed.sha256'), 'utf8'))

test('every migration is listed, and none was changed after it had landed', () => {
  const files = globSync('**/*.sql', { cwd: join(root, folder) }).sort()
  assert.ok(files.length >= 20, `saw only ${files.length}`)
  for (const file of files) {
    // Git may write files with CRLF on some systems: that is not a change.
    const text = readFileSync(join(root, folder, file), 'utf8').replaceAll('\r\n', '\n')
    const digest = createHash('sha256').update(text).digest('hex')
    assert.ok(listed.has(file), `${file} is new: add the line "${digest}  ${file}" to ${folder}/landed.sha256`)
    assert.equal(listed.get(file), digest, `${file} was changed after it had landed: make the change in a new file`)
  }
  assert.deepEqual([...listed.keys()].sort(), files, 'a listed migration is missing')
})

test('every migration of the last release is unchanged', (t) => {
  const release = lastRelease()
  const reason = whyAbsent(release.commit)
  if (reason !== null) return t.skip(reason)
  for (const [file, digest] of parse(readAt(release.commit, `${folder}/landed.sha256`)))
    assert.equal(listed.get(file), digest, `${file} was released in ${release.version} and then changed`)
})

test('every migration says whether processes of the last release bear it, and follows those of the release', () => {
  const known = ['no', ...releases().map(({ last_migration }) => last_migration)]
  const listedByRelease = (() => {
    const { commit } = lastRelease()
    return whyAbsent(commit) === null ? parse(readAt(commit, `${folder}/landed.sha256`)) : null
  })()
  for (const file of listed.keys()) {
    const name = file.replace(/\.sql$/, '')
    if (file.startsWith('baseline/') || name <= lastUnmarked) continue
    const [, since] = /^-- compatible: (.*)$/m.exec(readFileSync(join(root, folder, file), 'utf8')) ?? []
    const { last_migration } = releases().findLast((release) => release.last_migration < name) ?? lastRelease()
    assert.ok(
      since !== undefined && known.includes(since),
      `${file} needs a line "-- compatible: ${last_migration}" or "-- compatible: no": see the README of the folder`,
    )
    if (listedByRelease && !listedByRelease.has(file))
      assert.ok(
        name > lastRelease().last_migration,
        `${file} must follow the last release: name it by the present time`,
      )
  }
})

test('each release names its commit, and a last migration that is still here', () => {
  const names = ['20261128T000000_baseline', ...[...listed.keys()].map((file) => file.replace(/\.sql$/, ''))]
  for (const { version, commit, last_migration, date } of releases()) {
    assert.match(version, /^\d+\.\d+\.\d+$/)
    assert.match(commit, /^[0-9a-f]{40}$/, version)
    assert.match(date, /^\d{4}-\d\d-\d\d$/, version)
    assert.ok(names.includes(last_migration), `${version}: ${last_migration}`)
    whyAbsent(commit)
  }
})
