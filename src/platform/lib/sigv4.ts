import { createHash, createHmac } from 'node:crypto'

/** A request to a store that speaks S3. `headers` in lower case, with `host`. */
export type S3Request = {
  readonly method: 'GET' | 'PUT' | 'DELETE'
  readonly url: URL
  readonly headers: { readonly [name: string]: string }
  /** SHA-256 of the body in hex. */
  readonly payload: string
}

export type S3Credentials = { readonly key: string; readonly secret: string; readonly region: string }

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()

/** Escapes everything but A-Z a-z 0-9 - . _ ~, as the signature requires. */
export const uriEncode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)

/** SHA-256 of an empty body. */
export const emptyPayload = sha256('')

/**
 * Returns the headers of a request signed by AWS Signature Version 4, in one chunk (Amazon S3 API Reference,
 * "Authenticating Requests: Using the Authorization Header").
 * @param at time of the signature; stores refuse one that is more than 15 minutes off
 */
export const signedHeaders = (
  request: S3Request,
  { key, secret, region }: S3Credentials,
  at: Date,
): Record<string, string> => {
  const time = at.toISOString().replace(/[-:]|\.\d+/g, '')
  const day = time.slice(0, 8)
  const headers: Record<string, string> = {
    ...request.headers,
    'x-amz-content-sha256': request.payload,
    'x-amz-date': time,
  }
  const names = Object.keys(headers).sort()
  const query = [...request.url.searchParams]
    .map(([name, value]) => `${uriEncode(name)}=${uriEncode(value)}`)
    .sort()
    .join('&')
  const canonical = [
    request.method,
    request.url.pathname,
    query,
    ...names.map((name) => `${name}:${headers[name]?.trim() ?? ''}`),
    '',
    names.join(';'),
    request.payload,
  ].join('\n')
  const scope = `${day}/${region}/s3/aws4_request`
  const text = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n')
  const signing = ['s3', 'aws4_request'].reduce(
    (one, next) => hmac(one, next),
    hmac(hmac(`AWS4${secret}`, day), region),
  )
  const signature = hmac(signing, text).toString('hex')
  return {
    ...headers,
    authorization: `AWS4-HMAC-SHA256 Credential=${key}/${scope},SignedHeaders=${names.join(';')},Signature=${signature}`,
  }
}
