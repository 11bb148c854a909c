import type { PostResult } from './outbound.ts'

const statuses = new Set([301, 302, 303, 307, 308])

/** A request that an answer redirects to. `keepsBody`: it has the method and the body of the first one. */
type Redirection = { readonly url: string; readonly method: 'GET' | 'POST'; readonly keepsBody: boolean }

/**
 * Returns the request to which an answer redirects; null if it does not redirect. As in browsers (Fetch, 4.4), 301, 302 and
 * 303 make it a GET. Its address must be judged as the first one was.
 * @param request that was answered
 * @returns `fault`, a predicate that follows the address: from HTTPS nothing leads to plain HTTP
 */
export const redirectionOf = (
  { status, headers: { location } }: Pick<PostResult, 'status' | 'headers'>,
  request: Pick<Redirection, 'url' | 'method'>,
): Redirection | { readonly fault: string } | null => {
  if (!statuses.has(status) || location === undefined || !URL.canParse(location, request.url)) return null
  const url = new URL(location, request.url)
  if (url.protocol !== 'https:' && new URL(request.url).protocol === 'https:')
    return { fault: 'redirects from HTTPS to an address without it' }
  const keepsBody = status === 307 || status === 308
  return { url: url.href, method: keepsBody ? request.method : 'GET', keepsBody }
}
