import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../../test/servers.ts'
import { checkedKey, FileNotFound, makeFolderStore } from './file-store.ts'

test('a key that leads out of the store names no file', async () => {
  const home = temporaryFolder()
  const folder = join(home, 'media')
  mkdirSync(folder)
  writeFileSync(join(home, 'secret.txt'), 'secret')
  const store = makeFolderStore(folder)
  for (const key of [
    '../secret.txt',
    'a/../../secret.txt',
    `${folder}/../secret.txt`,
    '..',
    '.',
    '',
    'a//b',
    'a\0b',
    '..\\x',
  ])
    await assert.rejects(store.get(key), FileNotFound, key)
  assert.equal(checkedKey('a/b c/ü.txt'), 'a/b c/ü.txt')
})
