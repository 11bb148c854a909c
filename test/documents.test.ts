import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from './servers.ts'

/** Plain JavaScript, as scripts/ready.mjs runs on the machine's own Node. */
const makeDocuments: (root: string, node: string) => boolean = (
  await import(join(import.meta.dirname, '../scripts/documents.mjs'))
).makeDocuments

const outputs = ['docs/openapi.json', 'src/interfaces/cli/contracts.json']

test('documents of the contracts are made when one is missing or a source changed, and not otherwise', () => {
  const root = temporaryFolder()
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  // A generator that counts its runs, and lists two sources.
  write(
    'scripts/openapi.ts',
    `import { appendFileSync, writeFileSync } from 'node:fs'
    for (const path of ${JSON.stringify(outputs)}) writeFileSync(${JSON.stringify(root)} + '/' + path, 'made')
    appendFileSync(${JSON.stringify(join(root, 'runs'))}, '.')
    console.log('src/a.ts\\nsrc/b.ts')`,
  )
  write('package.json', '{ "type": "module" }')
  for (const path of ['package-lock.json', 'src/a.ts', 'src/b.ts', ...outputs]) write(path, 'first')
  const make = () => makeDocuments(root, process.execPath)
  assert.deepEqual([make(), make()], [true, false])
  for (const change of [
    () => write('src/b.ts', 'second'),
    () => write('package.json', '{ "type": "module", "version": "2" }'),
    () => rmSync(join(root, outputs[1] ?? '')),
  ]) {
    change()
    assert.deepEqual([make(), make()], [true, false])
  }
  assert.ok(outputs.every((path) => existsSync(join(root, path))))
  assert.equal(readFileSync(join(root, 'runs'), 'utf8'), '....')
  write('scripts/openapi.ts', "throw new Error('a contract is wrong')")
  write('src/a.ts', 'third')
  assert.throws(make, /scripts\/openapi.ts failed: .*a contract is wrong/s)
})
