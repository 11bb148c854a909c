import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { hasCommit, lastRelease, readAt } from '../../scripts/releases/releases.ts'

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
  if (release === null) return t.skip('docs/releases.json has no release')
  if (!hasCommit(release.commit)) return t.skip(`this clone lacks the commit of ${release.version}, ${release.commit}`)
  for (const [file, digest] of parse(readAt(release.commit, `${folder}/landed.sha256`)))
    assert.equal(listed.get(file), digest, `${file} was released in ${release.version} and then changed`)
})
