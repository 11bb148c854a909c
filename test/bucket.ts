import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { after } from 'node:test'

/** An S3 server for the calling test file: it accepts every signature and verifies digests. */
export const startBucket = async () => {
  const objects = new Map<string, Buffer>()
  const heard: string[] = []
  const store = { isAway: false }
  const server = createServer(async (request, response) => {
    const { method, url = '', headers } = request
    const body = await buffer(request)
    heard.push(`${method} ${url}`)
    if (store.isAway) return response.writeHead(503).end('SlowDown')
    const digest = createHash('sha256').update(body).digest('hex')
    assert.match(headers.authorization ?? '', /^AWS4-HMAC-SHA256 Credential=me\/\d{8}\/eu-west-1\/s3\/aws4_request,/)
    if (headers['x-amz-content-sha256'] !== digest) return response.writeHead(400).end('XAmzContentSHA256Mismatch')
    if (method === 'PUT') {
      objects.set(url, body)
      return response.end()
    }
    if (method === 'DELETE') return response.writeHead(objects.delete(url) ? 204 : 404).end()
    const object = objects.get(url)
    if (!object) return response.writeHead(404).end('NoSuchKey')
    const [, start, end] = /bytes=(\d+)-(\d+)/.exec(headers.range ?? '') ?? []
    if (start === undefined) return response.end(object)
    return response.writeHead(206).end(object.subarray(Number(start), Number(end) + 1))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => server.close())
  const { port } = server.address() as AddressInfo // a TCP server
  const endpoint = encodeURIComponent(`http://127.0.0.1:${port}`)
  /** Stops listening. */
  const leave = () => {
    server.close()
    server.closeAllConnections()
  }
  const address = `s3://me:se%2Fcret@files/kept?region=eu-west-1&endpoint=${endpoint}`
  return { address, objects, heard, store, leave }
}
