import type { ReadRoute, RequestOf } from './client.ts'
import { ApiError } from './errors.ts'
import { addressOf, newIdempotencyKey, type RequestParts, requestContext, send } from './send.ts'

/** Sends a file as the body of a request. @param route such as `POST /open/documents` */
export const uploadFile = (route: string, file: File, parts: Omit<RequestParts, 'body'> = {}): Promise<unknown> =>
  send(route, { ...parts, body: file }, { idempotencyKey: newIdempotencyKey() })

/**
 * Returns the link of a file at the address of this page. The policy permits requests to this server only, and the link may
 * have another name of it.
 */
export const sameOrigin = (link: string): string => {
  const { pathname, search } = new URL(link)
  return pathname + search
}

/** Reads a file and has the browser save it. @throws ApiError for a refusal */
export const download = async <const R extends ReadRoute>(
  route: R,
  request: RequestOf<R>,
  fileName: string,
): Promise<void> => {
  const address = addressOf(route.replace('GET ', ''), request as RequestParts)
  const { account } = requestContext
  const response = await fetch(address, { headers: account ? { 'x-account': account } : {} })
  if (!response.ok) throw new ApiError(response.status, await response.json())
  const link = document.createElement('a')
  link.href = URL.createObjectURL(await response.blob())
  link.download = fileName
  link.click()
  // The browser has read the address when the click is over.
  setTimeout(() => URL.revokeObjectURL(link.href), 1_000)
}

/**
 * Sends a file of any length, and reports how much was sent. The answer may take minutes.
 * @param onProgress gets the sent share, from 0 to 1
 * @throws ApiError for a refusal, or a lost connection
 */
export const uploadStream = (
  route: string,
  file: Blob,
  query: RequestParts['query'],
  onProgress: (share: number) => void,
): Promise<unknown> => {
  const [method = '', url = ''] = route.split(' ')
  return new Promise((resolve, reject) => {
    // `fetch` reports no progress of an upload.
    const request = new XMLHttpRequest()
    request.open(method, addressOf(url, query ? { query } : {}))
    request.responseType = 'json'
    request.setRequestHeader('x-trunkline-console', '1')
    request.setRequestHeader('content-type', file.type)
    if (requestContext.account) request.setRequestHeader('x-account', requestContext.account)
    request.upload.onprogress = ({ loaded, total }) => onProgress(total > 0 ? loaded / total : 1)
    request.onload = () => {
      if (request.status < 300) resolve(request.response)
      else reject(new ApiError(request.status, Object(request.response)))
    }
    request.onerror = () => reject(new ApiError(0, {}))
    request.send(file)
  })
}
