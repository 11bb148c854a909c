import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import { checkedKey, FileNotFound, type FileStore } from './file-store.ts'
import { emptyPayload, type S3Credentials, type S3Request, signedHeaders, uriEncode } from './sigv4.ts'

/** Limits in milliseconds: of an upload, of the response to a request without a body, of a pause in a download. */
const uploadTimeoutMs = 300_000
const answerTimeoutMs = 20_000
const pauseTimeoutMs = 300_000
/** The upload limit grows by 1 ms for each 100 bytes: a recording of an hour has 115 MB. */
const minBytesPerMs = 100

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

const within = (milliseconds: number, signal?: AbortSignal): AbortSignal => {
  const late = AbortSignal.timeout(milliseconds)
  return signal ? AbortSignal.any([late, signal]) : late
}

type IdleTimer = ReturnType<typeof makeIdleTimer>

/** Returns an idle timer that aborts a request. */
const makeIdleTimer = () => {
  const gone = new AbortController()
  let timer: NodeJS.Timeout | undefined
  return {
    signal: gone.signal,
    expect: (milliseconds: number) => {
      clearTimeout(timer)
      timer = setTimeout(() => gone.abort(new Error(`the store was silent for ${milliseconds} ms`)), milliseconds)
    },
    end: () => {
      clearTimeout(timer)
      gone.abort()
    },
  }
}

/** Returns the body as a stream. Pauses are limited, the total time is not. */
const readable = (body: ReadableStream<Uint8Array> | null, watch: IdleTimer): Readable => {
  const parts = async function* () {
    watch.expect(pauseTimeoutMs)
    for await (const part of body ?? []) {
      watch.expect(pauseTimeoutMs)
      yield part
      watch.expect(pauseTimeoutMs)
    }
  }
  return Readable.from(parts(), { objectMode: false }).once('close', watch.end)
}

/** Returns the store of an S3 bucket. @param address in the form of TRUNKLINE_MEDIA_STORE */
export const makeS3Store = (address: string): FileStore => {
  const bucket = bucketOf(address)

  const ask = async (
    key: string,
    request: Pick<S3Request, 'method' | 'payload'> & {
      headers?: Record<string, string>
      body?: Readable
      signal: AbortSignal
    },
  ) => {
    const url = new URL(`${bucket.base}/${checkedKey(key).split('/').map(uriEncode).join('/')}`)
    const { method, payload, headers = {}, body, signal } = request
    const { host, ...rest } = signedHeaders(
      { method, url, payload, headers: { ...headers, host: url.host } },
      bucket,
      new Date(),
    )
    const answer = await fetch(url, {
      method,
      headers: rest,
      signal,
      redirect: 'error',
      ...(body ? { body: Readable.toWeb(body), duplex: 'half' } : {}),
    })
    if (answer.ok || (method === 'DELETE' && answer.status === 404)) return answer
    const said = `the store answered ${answer.status} to ${method} (${host}): ${(await answer.text()).slice(0, 300)}`
    const isMissing = method === 'GET' && answer.status === 404 && !said.includes('NoSuchBucket')
    throw isMissing ? new FileNotFound(said) : new Error(said)
  }

  return {
    put: async (key, { path, size, digest }, mime, signal) => {
      const headers = { 'content-length': String(size), 'content-type': mime }
      const body = createReadStream(path)
      try {
        const answer = await ask(key, {
          ...{ method: 'PUT', payload: digest.toString('hex'), headers, body },
          signal: within(uploadTimeoutMs + Math.ceil(size / minBytesPerMs), signal),
        })
        await answer.body?.cancel()
      } finally {
        // fetch closes the stream only after it has read it, which it has not if the store cannot be reached.
        body.destroy()
      }
    },
    get: async (key, span) => {
      const headers = span ? { range: `bytes=${span.start}-${span.end}` } : {}
      const watch = makeIdleTimer()
      watch.expect(answerTimeoutMs)
      try {
        const { body } = await ask(key, { method: 'GET', payload: emptyPayload, headers, signal: watch.signal })
        return readable(body, watch)
      } catch (error) {
        watch.end()
        throw error
      }
    },
    delete: async (key, signal) => {
      const request = { payload: emptyPayload, signal: within(answerTimeoutMs, signal) }
      const answer = await ask(key, { method: 'DELETE', ...request })
      await answer.body?.cancel()
    },
  }
}
