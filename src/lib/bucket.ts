import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import { Missing, type Place } from './files.ts'
import { emptyPayload, escaped, type S3Credentials, type S3Request, signed } from './sigv4.ts'

/** Milliseconds for one file that is put; for an answer to a request without a body; and between two parts of a file that is read. */
const longest = 300_000
const longestToAnswer = 20_000
const longestPause = 300_000
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

const within = (milliseconds: number, signal?: AbortSignal): AbortSignal => {
  const late = AbortSignal.timeout(milliseconds)
  return signal ? AbortSignal.any([late, signal]) : late
}

type Watch = ReturnType<typeof makeWatch>

/** Ends a request when what is expected next does not come. */
const makeWatch = () => {
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

/** However long it takes to read it: only pauses are limited. */
const readable = (body: ReadableStream<Uint8Array> | null, watch: Watch): Readable => {
  const parts = async function* () {
    watch.expect(longestPause)
    for await (const part of body ?? []) {
      watch.expect(longestPause)
      yield part
      watch.expect(longestPause)
    }
  }
  return Readable.from(parts(), { objectMode: false }).once('close', watch.end)
}

/** A bucket of a store that speaks S3. @param address as TRUNKLINE_MEDIA_STORE has it */
export const makeBucket = (address: string): Place => {
  const bucket = bucketOf(address)

  const ask = async (
    key: string,
    request: Pick<S3Request, 'method' | 'payload'> & {
      headers?: Record<string, string>
      body?: Readable
      signal: AbortSignal
    },
  ) => {
    const url = new URL(`${bucket.base}/${key.split('/').map(escaped).join('/')}`)
    const { method, payload, headers = {}, body, signal } = request
    const { host, ...rest } = signed(
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
    throw isMissing ? new Missing(said) : new Error(said)
  }

  return {
    put: async (key, { path, size, digest }, mime, signal) => {
      const headers = { 'content-length': String(size), 'content-type': mime }
      const body = createReadStream(path)
      try {
        const answer = await ask(key, {
          ...{ method: 'PUT', payload: digest.toString('hex'), headers, body },
          signal: within(longest + Math.ceil(size / slowest), signal),
        })
        await answer.body?.cancel()
      } finally {
        // A store that cannot be reached has not read it, and so nobody has closed it.
        body.destroy()
      }
    },
    get: async (key, span) => {
      const headers = span ? { range: `bytes=${span.start}-${span.end}` } : {}
      const watch = makeWatch()
      watch.expect(longestToAnswer)
      try {
        const { body } = await ask(key, { method: 'GET', payload: emptyPayload, headers, signal: watch.signal })
        return readable(body, watch)
      } catch (error) {
        watch.end()
        throw error
      }
    },
    delete: async (key, signal) => {
      const request = { payload: emptyPayload, signal: within(longestToAnswer, signal) }
      const answer = await ask(key, { method: 'DELETE', ...request })
      await answer.body?.cancel()
    },
  }
}
