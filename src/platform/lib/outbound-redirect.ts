import type { PostResult } from './outbound.ts'

/** Redirects that one request follows: those of Twilio. */
const maxRedirects = 5

const statuses = new Set([301, 302, 303, 307, 308])

type Address = { readonly url: string; readonly method: 'GET' | 'POST' }

/** A request that an answer redirects to. `keepsBody`: it has the method and the body of the first one. */
type Redirection = Address & { readonly keepsBody: boolean }

/**
 * Returns the request to which an answer redirects; null if it does not redirect. As in browsers (Fetch, 4.4), 301, 302 and
 * 303 make it a GET. Its address must be judged as the first one was.
 * @param request that was answered
 * @returns `fault`, a predicate that follows the address: from HTTPS nothing leads to plain HTTP
 */
export const redirectionOf = (
  { status, headers: { location } }: Pick<PostResult, 'status' | 'headers'>,
  request: Address,
): Redirection | { readonly fault: string } | null => {
  if (!statuses.has(status) || location === undefined || !URL.canParse(location, request.url)) return null
  const url = new URL(location, request.url)
  if (url.protocol !== 'https:' && new URL(request.url).protocol === 'https:')
    return { fault: 'redirects from HTTPS to an address without it' }
  const keepsBody = status === 307 || status === 308
  return { url: url.href, method: keepsBody ? request.method : 'GET', keepsBody }
}

/** A redirect that was not followed. */
export class RedirectError extends Error {
  /** `insecure`: it leads from HTTPS to plain HTTP. `loop`: there were too many. `late`: the time of the request is over. */
  readonly reason: 'insecure' | 'loop' | 'late'
  /** The address that redirects. */
  readonly url: string
  /** Status of its answer. */
  readonly status: number

  constructor(reason: RedirectError['reason'], message: string, url: string, status: number) {
    super(message)
    this.reason = reason
    this.url = url
    this.status = status
  }
}

/** Sends one request. `keepsBody`: it has the body of the first one. @param redirects before it */
type Send<R> = (to: Redirection, redirects: number) => Promise<R>

/**
 * Sends a request, and at most five others to which its answers redirect.
 * @param isLate whether the time for all of them is over
 * @returns the answer that does not redirect, and the address that gave it
 * @throws RedirectError, and the errors of `send`
 */
export const followRedirects = async <R extends Pick<PostResult, 'status' | 'headers'>>(
  first: Address,
  send: Send<R>,
  isLate: () => boolean,
): Promise<{ readonly url: string; readonly result: R }> => {
  let to: Redirection = { ...first, keepsBody: true }
  for (let redirects = 0; ; redirects++) {
    const result = await send(to, redirects)
    const next = redirectionOf(result, to)
    if (next === null) return { url: to.url, result }
    const { url } = to
    const refused = (reason: RedirectError['reason'], message: string) =>
      new RedirectError(reason, message, url, result.status)
    if ('fault' in next) throw refused('insecure', next.fault)
    if (redirects === maxRedirects) throw refused('loop', `more than ${maxRedirects} redirects of HTTP`)
    if (isLate()) throw refused('late', 'its redirects took too long')
    to = { ...next, keepsBody: to.keepsBody && next.keepsBody }
  }
}
