import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import { Missing, type Place } from './files.ts'
import { emptyPayload, escaped, type S3Credentials, type S3Request, signed } from './sigv4.ts'

/** Milliseconds for one request, its body included; and for one without a body. */
const longest = 300_000
const longestToDelete = 20_000
/** What is large may take longer: a recording of an hour has 115 MB. Bytes a millisecond. */
const slowest = 100

type Bucket = S3Credentials & { readonly base: string }

/** `s3://<key>:<secret>@<bucket>/<prefix>?region=…&endpoint=…`: with an endpoint the bucket is the path's first part. */
const bucketOf = (address: string): Bucket => {
  const url = new URL(address)
  const region = url.searchParams.get('region') ?? 'us-east-1'
  const endpoint = url.searchParams.get('endpoint')?.replace(/\/$/, '')
  const prefix = url.pathname.replace(/^\/+|\/+$/g, '')
  const host = endpoint ? `${endpoint}/${url.hostname}` : `https://${url.hostname}.s3.${region}.amazonaws.com`
  return {
    key: decodeURIComponent(url.username),
    secret: decodeURIComponent(url.password),
    region,
    base: prefix ? `${host}/${prefix}` : host,
  }
}

/** A bucket of a store that speaks S3. @param address as TRUNKLINE_MEDIA_STORE has it */
export const makeBucket = (address: string): Place => {
  const bucket = bucketOf(address)

  const ask = async (
    key: string,
    request: Pick<S3Request, 'method' | 'payload'> & {
      headers?: Record<string, string>
      body?: Readable
      milliseconds?: number
      signal?: AbortSignal | undefined
    },
  ) => {
    const url = new URL(`${bucket.base}/${key.split('/').map(escaped).join('/')}`)
    const { method, payload, headers = {}, body, milliseconds = longest, signal } = request
    const late = AbortSignal.timeout(milliseconds)
    const { host, ...rest } = signed(
      { method, url, payload, headers: { ...headers, host: url.host } },
      bucket,
      new Date(),
    )
    const answer = await fetch(url, {
      method,
      headers: rest,
      signal: signal ? AbortSignal.any([late, signal]) : late,
      redirect: 'error',
      ...(body ? { body: Readable.toWeb(body), duplex: 'half' } : {}),
    })
    if (answer.ok || (method === 'DELETE' && answer.status === 404)) return answer
    const said = `the store answered ${answer.status} to ${method} (${host}): ${(await answer.text()).slice(0, 300)}`
    const isMissing = method === 'GET' && answer.status === 404 && !said.includes('NoSuchBucket')
    throw isMissing ? new Missing(said) : new Error(said)
  }

  return {
    put: async (key, { path, size, digest }, mime, signal) => {
      const headers = { 'content-length': String(size), 'content-type': mime }
      const answer = await ask(key, {
        method: 'PUT',
        payload: digest.toString('hex'),
        headers,
        body: createReadStream(path),
        milliseconds: longest + Math.ceil(size / slowest),
        signal,
      })
      await answer.body?.cancel()
    },
    get: async (key, span) => {
      const headers = span ? { range: `bytes=${span.start}-${span.end}` } : {}
      const { body } = await ask(key, { method: 'GET', payload: emptyPayload, headers })
      // Node's fetch answers with the stream of node:stream/web, which its types call by another name.
      return body ? Readable.fromWeb(body as Parameters<typeof Readable.fromWeb>[0]) : Readable.from([])
    },
    delete: async (key) => {
      const answer = await ask(key, { method: 'DELETE', payload: emptyPayload, milliseconds: longestToDelete })
      await answer.body?.cancel()
    },
  }
}
