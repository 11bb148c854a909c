import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { temporaryFolder } from './servers.ts'

const root = join(import.meta.dirname, '..')
const preload = join(root, 'scripts/preload.mjs')
// scripts/ready.mjs has packed them before the tests run.
const packed = join(root, 'node_modules/.cache/packed')
const files: Record<string, string> = JSON.parse(readFileSync(join(packed, 'files.json'), 'utf8')).files

test('each packed dependency exports what its package exports', async () => {
  assert.ok(Object.keys(files).length > 10)
  for (const [specifier, file] of Object.entries(files)) {
    const [own, plain]: object[] = await Promise.all([
      import(pathToFileURL(join(packed, file)).href),
      import(specifier),
    ])
    const names = (all: object) => Object.keys(all).filter((name) => name !== 'module.exports')
    assert.deepEqual(names(own ?? {}), names(plain ?? {}), specifier)
  }
})

/** Returns the addresses that a file of ours gets for an import of `jose` and for one of its own neighbours. */
const resolvedWith = (flag: string): { jose: string; neighbour: string } => {
  const folder = join(temporaryFolder(), 'src')
  mkdirSync(folder)
  writeFileSync(join(folder, 'neighbour.ts'), 'export const name: string = import.meta.url\n')
  writeFileSync(
    join(folder, 'main.ts'),
    `import { name } from './neighbour.ts'
    const jose = (() => { try { return import.meta.resolve('jose') } catch { return 'plain' } })()
    console.log(JSON.stringify({ jose, neighbour: name }))`,
  )
  return JSON.parse(execFileSync(process.execPath, [`--import=${flag}`, join(folder, 'main.ts')], { encoding: 'utf8' }))
}

test('imports of our files lead to the packed dependencies; without a whole pack, to the packages', () => {
  assert.match(resolvedWith(preload).jose, /\.cache\/packed\/jose\.mjs$/)
  const alone = join(temporaryFolder(), 'scripts')
  mkdirSync(alone)
  cpSync(preload, join(alone, 'preload.mjs'))
  const there = join(alone, '../node_modules/.cache/packed')
  mkdirSync(there, { recursive: true })
  for (const list of [null, '{', JSON.stringify({ files: { jose: 'missing.mjs' } })]) {
    if (list !== null) writeFileSync(join(there, 'files.json'), list)
    const { jose, neighbour } = resolvedWith(join(alone, 'preload.mjs'))
    assert.equal(jose, 'plain')
    assert.match(neighbour, /neighbour\.ts$/)
  }
})

test('npm start, the container and the systemd unit use the preload', () => {
  for (const file of ['bin/trunkline.mjs', 'deploy/Containerfile', 'deploy/trunkline.service'])
    assert.match(readFileSync(join(root, file), 'utf8'), /--import=.*scripts\/preload\.mjs/, file)
})
