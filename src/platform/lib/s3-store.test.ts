import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readlinkSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { startBucket } from '../../../test/bucket.ts'
import { until } from '../../../test/platform.ts'
import { temporaryFolder } from '../../../test/servers.ts'
import { FileNotFound } from './file-store.ts'
import { makeS3Store } from './s3-store.ts'
import { emptyPayload, type S3Request, signedHeaders } from './sigv4.ts'

/** Examples of the Amazon S3 API Reference, "Signature Calculations for the Authorization Header". */
const credentials = {
  key: 'AKIAIOSFODNN7EXAMPLE',
  secret: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  region: 'us-east-1',
}
const host = 'examplebucket.s3.amazonaws.com'
const examples: [string, S3Request, string][] = [
  [
    'a part of an object',
    {
      method: 'GET',
      url: new URL(`https://${host}/test.txt`),
      headers: { host, range: 'bytes=0-9' },
      payload: emptyPayload,
    },
    'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  ],
  [
    'an object that is put',
    {
      method: 'PUT',
      url: new URL(`https://${host}/test%24file.text`),
      headers: { host, date: 'Fri, 24 May 2013 00:00:00 GMT', 'x-amz-storage-class': 'REDUCED_REDUNDANCY' },
      payload: createHash('sha256').update('Welcome to Amazon S3.').digest('hex'),
    },
    '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
  ],
  [
    'a query without a value',
    { method: 'GET', url: new URL(`https://${host}/?lifecycle`), headers: { host }, payload: emptyPayload },
    'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
  ],
  [
    'a query',
    { method: 'GET', url: new URL(`https://${host}/?max-keys=2&prefix=J`), headers: { host }, payload: emptyPayload },
    '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
  ],
]

for (const [what, request, signature] of examples)
  test(`the signature equals that of Amazon's example: ${what}`, () => {
    const { authorization = '' } = signedHeaders(request, credentials, new Date('2013-05-24T00:00:00Z'))
    assert.equal(authorization.split('Signature=')[1], signature)
  })

test('a bucket stores files with their digest, returns them whole or in part, and deletes them', async () => {
  const { address, objects, heard, store } = await startBucket()
  const place = makeS3Store(address)
  const path = join(temporaryFolder(), 'file')
  writeFileSync(path, 'Hello files')
  const digest = createHash('sha256').update('Hello files').digest()
  const file = { path, size: 11, digest }
  await place.put('a/b c/d', file, 'text/plain')
  assert.equal(heard[0], 'PUT /files/kept/a/b%20c/d')
  assert.equal(String(await buffer(await place.get('a/b c/d'))), 'Hello files')
  assert.equal(String(await buffer(await place.get('a/b c/d', { start: 6, end: 8 }))), 'fil')
  await assert.rejects(place.get('a/nothing'), FileNotFound)
  await assert.rejects(place.put('a/b', { ...file, digest: Buffer.alloc(32) }, 'text/plain'), /Mismatch/)
  for (const _ of ['there', 'not there']) await place.delete('a/b c/d')
  assert.equal(objects.size, 0)
  store.isAway = true
  await assert.rejects(place.get('a/b c/d'), (error) => !(error instanceof FileNotFound) && /503/.test(String(error)))
})

/** Starts a store whose requests stay open until the test answers. */
const slowly = async () => {
  const responses: ServerResponse[] = []
  const server = createServer((_, response) => void responses.push(response)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // it listens on TCP
  const endpoint = encodeURIComponent(`http://127.0.0.1:${port}`)
  return { responses, server, place: makeS3Store(`s3://me:secret@files/?endpoint=${endpoint}`) }
}

test('a local file is closed if the store cannot be reached', async () => {
  const { server, place } = await slowly()
  server.close()
  const path = join(temporaryFolder(), 'file')
  // Too large to be buffered before the request is sent.
  const content = Buffer.alloc(1_000_000)
  writeFileSync(path, content)
  const isOpen = (fd: string) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`) === path
    } catch {
      return false
    }
  }
  const digest = createHash('sha256').update(content).digest()
  for (let i = 0; i < 5; i++) await assert.rejects(place.put('a', { path, size: content.length, digest }, 'text/plain'))
  await until(async () => !readdirSync('/proc/self/fd').some(isOpen))
})

test('a download has no time limit, but ends if the store falls silent', async (t) => {
  const { responses, server, place } = await slowly()
  t.after(() => server.close())
  const minutes = (count: number) => t.mock.timers.tick(count * 60_000)
  const began = async () => {
    const opening = place.get('a')
    for (; responses.length === 0; await new Promise(setImmediate));
    const [answer] = responses.splice(0)
    answer?.write('1')
    const stream = await opening
    return { answer, parts: stream[Symbol.asyncIterator]() }
  }
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { answer, parts } = await began()
  for (const next of ['2', '3', '4']) {
    assert.equal(String((await parts.next()).value), String(Number(next) - 1))
    minutes(4)
    answer?.write(next)
  }
  answer?.end()
  assert.equal(String((await parts.next()).value), '4')
  assert.equal((await parts.next()).done, true)

  const silent = await began()
  await silent.parts.next()
  const next = assert.rejects(silent.parts.next(), /the store was silent for 300000 ms/)
  minutes(6)
  await next
  silent.answer?.destroy()
})
