import { print } from '../../../platform/lib/id.ts'
import { signatureHeaders } from '../../../platform/lib/webhook-signature.ts'
import type { ProgramCall, ProgramRequest, RequestWriter } from './program.ts'

type NativeWriterDeps = {
  /** Value of the User-Agent header. */
  readonly agent: string
  /** Signing keys of an account, for programs without a secret. */
  keysOf(account: string): Promise<readonly Buffer[]>
}

/** Returns the call as requests, status callbacks and events describe it. */
export const nativeCall = (call: ProgramCall) => ({
  uuid: print('CDR', call.id),
  parent_uuid: call.parent && print('CDR', call.parent),
  direction: call.direction,
  status: call.status,
  from: call.from,
  to: call.to,
  account_uuid: print('ACC', call.account),
  number_uuid: call.number && print('DID', call.number),
  diverted_from: call.divertedFrom,
  tags: call.tags,
})

const contentOf = ({ event, sequence, call, verb, result, error }: ProgramRequest) => ({
  event,
  sequence,
  call: nativeCall(call),
  ...(verb ? { verb } : {}),
  ...(result ? { result } : {}),
  ...(error ? { error } : {}),
})

/** Adds the values of an object under names with dots, such as `result.digits`, as a query has no structure. */
const addFlat = (query: URLSearchParams, value: unknown, name: string): void => {
  if (value === null || value === undefined) return
  if (typeof value !== 'object') query.append(name, String(value))
  else for (const [key, child] of Object.entries(value)) addFlat(query, child, name === '' ? key : `${name}.${key}`)
}

const withoutFragment = (url: string): string => {
  const at = url.indexOf('#')
  return at < 0 ? url : url.slice(0, at)
}

/** Returns an address with the fields of a GET in its query, and without its fragment. */
export const withQuery = (url: string, content: object): string => {
  const target = new URL(withoutFragment(url))
  addFlat(target.searchParams, content, '')
  return target.href
}

/** Writes requests as JSON with the headers of Standard Webhooks. A GET carries the fields in its query. */
export const makeNativeWriter =
  ({ agent, keysOf }: NativeWriterDeps): RequestWriter =>
  async (program, to, request, id) => {
    const content = contentOf(request)
    const body = to.method === 'GET' ? '' : JSON.stringify(content)
    const keys = program.secret ? [program.secret] : await keysOf(program.account)
    return {
      method: to.method,
      url: to.method === 'GET' ? withQuery(to.url, content) : withoutFragment(to.url),
      headers: {
        ...(to.method === 'GET' ? {} : { 'content-type': 'application/json' }),
        accept: 'application/json, text/xml',
        'user-agent': agent,
        ...signatureHeaders(keys, id, body, Date.now()),
      },
      body: to.method === 'GET' ? null : body,
    }
  }
