import type { ReadRoute, RequestOf } from './client.ts'
import { ApiError } from './errors.ts'
import { addressOf, newIdempotencyKey, type RequestParts, requestContext, send } from './send.ts'

/** Sends a file as the body of a request. @param route such as `POST /open/documents` */
export const uploadFile = (route: string, file: File, parts: Omit<RequestParts, 'body'> = {}): Promise<unknown> =>
  send(route, { ...parts, body: file }, { idempotencyKey: newIdempotencyKey() })

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
