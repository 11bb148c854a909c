import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { temporaryFolder } from '../../../test/servers.ts'
import { spool } from './place.ts'
import { makeBucket } from './s3.ts'
import { emptyPayload, type S3Request, signed } from './sigv4.ts'

/** The examples of the Amazon S3 API Reference, "Signature Calculations for the Authorization Header". */
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
  test(`requests are signed as Amazon's examples are: ${what}`, () => {
    const { authorization = '' } = signed(request, credentials, new Date('2013-05-24T00:00:00Z'))
    assert.equal(authorization.split('Signature=')[1], signature)
  })

test('files are put into a bucket with their digest, read from it whole or in part, and taken away', async () => {
  const objects = new Map<string, Buffer>()
  const heard: string[] = []
  const server = createServer(async (request, response) => {
    const { method, url = '', headers } = request
    const body = await buffer(request)
    heard.push(`${method} ${url}`)
    const digest = createHash('sha256').update(body).digest('hex')
    assert.match(headers.authorization ?? '', /^AWS4-HMAC-SHA256 Credential=me\/\d{8}\/eu-west-1\/s3\/aws4_request,/)
    if (headers['x-amz-content-sha256'] !== digest) return response.writeHead(400).end('XAmzContentSHA256Mismatch')
    if (method === 'PUT') objects.set(url, body)
    if (method === 'DELETE') return response.writeHead(objects.delete(url) ? 204 : 404).end()
    const object = objects.get(url)
    if (!object) return response.writeHead(404).end('NoSuchKey')
    const [, start, end] = /bytes=(\d+)-(\d+)/.exec(headers.range ?? '') ?? []
    if (start === undefined) return response.end(object)
    return response.writeHead(206).end(object.subarray(Number(start), Number(end) + 1))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => server.close())
  const { port } = server.address() as AddressInfo // it listens on TCP
  const endpoint = encodeURIComponent(`http://127.0.0.1:${port}`)
  const place = makeBucket(`s3://me:se%2Fcret@files/kept?region=eu-west-1&endpoint=${endpoint}`)
  const file = await spool(
    join(temporaryFolder(), 'x'),
    Readable.from([Buffer.from('Hello '), Buffer.from('files')]),
    100,
    new AbortController().signal,
  )
  await place.put('a/b c/d', file, 'text/plain')
  assert.equal(String(await buffer(await place.get('a/b c/d'))), 'Hello files')
  assert.equal(String(await buffer(await place.get('a/b c/d', { start: 6, end: 8 }))), 'fil')
  await assert.rejects(place.get('a/nothing'), /404/)
  for (const _ of ['there', 'not there']) await place.delete('a/b c/d')
  assert.equal(objects.size, 0)
  assert.equal(heard[0], 'PUT /files/kept/a/b%20c/d')
})
