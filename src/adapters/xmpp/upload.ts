import { request as requestPlain } from 'node:http'
import { request as requestTls } from 'node:https'
import { pipeline } from 'node:stream/promises'
import { ns } from '@trunkline/xmpp/namespaces.ts'
import type { Wire } from '@trunkline/xmpp/wire.ts'
import { child, elements, textOf, type XmlElement, xml } from '@trunkline/xmpp/xml.ts'
import type { XmppSettings } from '@trunkline/xmpp/xmpp-settings.ts'
import type { ChatFile } from '../../ports/chat-message.ts'
import type { ServiceResult } from '../../ports/supplier.ts'
import { uploadTimeoutMs } from './limits.ts'
import type { DiscoveredServices } from './service-discovery.ts'

/** The only headers that a slot may require (XEP-0363, 5). */
const headers = new Set(['authorization', 'cookie', 'expires'])

const headersOf = (put: XmlElement): Record<string, string> =>
  Object.fromEntries(
    elements(put, 'header').flatMap((header) => {
      const name = header.attrs.name ?? ''
      return headers.has(name.toLowerCase()) ? [[name, textOf(header).replace(/[\r\n]/g, '')]] : []
    }),
  )

/** Uploads the file to the slot. @returns the HTTP status */
const put = async (address: string, file: ChatFile, more: Record<string, string>, ca?: string): Promise<number> => {
  const isPlain = address.startsWith('http:')
  const options = {
    method: 'PUT',
    timeout: uploadTimeoutMs,
    signal: AbortSignal.timeout(uploadTimeoutMs),
    headers: { 'content-length': file.size, 'content-type': file.mimeType, ...more },
    ...(!isPlain && ca ? { ca } : {}),
  }
  const request = isPlain ? requestPlain(address, options) : requestTls(address, options)
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  request.on('response', (response) => {
    response.resume()
    resolve(response.statusCode ?? 0)
  })
  request.on('error', reject)
  const [status] = await Promise.all([promise, pipeline(file.open(), request)])
  return status
}

const isWeb = (address: string): boolean => URL.canParse(address) && /^https?:$/.test(new URL(address).protocol)

/** Uploads a file to the server (XEP-0363). @returns its public URL */
export const uploadFile = async (
  wire: Wire,
  { upload, uploadMax }: DiscoveredServices,
  { tls_ca: ca }: XmppSettings,
  file: ChatFile,
): Promise<ServiceResult<string>> => {
  if (upload === null) return { outcome: 'refused', reason: 'the server has no upload service' }
  if (file.size > uploadMax)
    return { outcome: 'refused', reason: `the server accepts files of up to ${uploadMax} bytes` }
  const slotRequest = { filename: file.name, size: String(file.size), 'content-type': file.mimeType }
  const answer = await wire.request(xml('iq', '', { type: 'get', to: upload }, xml('request', ns.upload, slotRequest)))
  if (answer.outcome === 'lost') return { outcome: 'later', seconds: 2, reason: answer.reason }
  if (answer.outcome === 'error') {
    return answer.waits
      ? { outcome: 'later', seconds: 30, reason: answer.reason }
      : { outcome: 'refused', reason: answer.reason }
  }
  const slot = child(answer.iq, 'slot', ns.upload)
  const to = slot && child(slot, 'put', ns.upload)
  const get = (slot && child(slot, 'get', ns.upload)?.attrs.url) ?? ''
  if (!to || !isWeb(to.attrs.url ?? '') || !isWeb(get)) return { outcome: 'refused', reason: 'the server gave no slot' }
  try {
    const status = await put(to.attrs.url ?? '', file, headersOf(to), ca)
    if (status === 200 || status === 201) return { outcome: 'done', value: get }
    const reason = `the server answered the file with ${status}`
    // Other 4xx statuses are permanent; only 408 and 429 invite a retry (RFC 9110, 15.5).
    return status >= 500 || status === 408 || status === 429
      ? { outcome: 'later', seconds: 5, reason }
      : { outcome: 'refused', reason }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { outcome: 'later', seconds: 5, reason: `the file did not arrive: ${reason}` }
  }
}
