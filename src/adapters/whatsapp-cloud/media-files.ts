import { randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import type { ChatFile } from '../../ports/chat-message.ts'
import type { ServiceResult } from '../../ports/supplier.ts'
import { fieldsOf, textOf } from './codec/fields.ts'
import type { GraphClient } from './graph-client.ts'
import { graphOf, type WhatsappCloudSettings } from './whatsapp-cloud-settings.ts'

/**
 * Media types that the network accepts as image, video and audio (Cloud API, "Media"); others are sent as documents.
 */
const types = {
  image: new Set(['image/jpeg', 'image/png']),
  video: new Set(['video/mp4', 'video/3gpp']),
  audio: new Set(['audio/aac', 'audio/amr', 'audio/mpeg', 'audio/mp4', 'audio/ogg']),
} as const

export type MediaCategory = keyof typeof types | 'document'

export const mediaCategoryOf = ({ type, mimeType }: Pick<ChatFile, 'type' | 'mimeType'>): MediaCategory => {
  const [mime = ''] = mimeType.toLowerCase().split(';')
  return type !== 'document' && types[type].has(mime.trim()) ? type : 'document'
}

/** A header parameter value (RFC 7578, 4.2) without characters that would end it. */
const quoted = (name: string): string => name.replace(/["\r\n\\]/g, '_')

/** Uploads a file to the network. @returns its media id */
export const uploadFile = async (
  client: GraphClient,
  phone: string,
  file: ChatFile,
): Promise<ServiceResult<string>> => {
  const boundary = `trunkline-${randomUUID()}`
  const field = (name: string, value: string) =>
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
  const mimeType = quoted(file.mimeType)
  const before = Buffer.from(
    `${field('messaging_product', 'whatsapp')}${field('type', mimeType)}--${boundary}\r\n` +
      `Content-Disposition: form-data; name="file"; filename="${quoted(file.name || 'file')}"\r\n` +
      `Content-Type: ${mimeType}\r\n\r\n`,
  )
  const after = Buffer.from(`\r\n--${boundary}--\r\n`)
  const result = await client.upload({
    path: `${phone}/media`,
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
    length: before.length + file.size + after.length,
    body: async function* () {
      yield before
      yield* file.open()
      yield after
    },
  })
  if (result.outcome !== 'done') return result
  const id = textOf(result.value.id)
  return id === null
    ? { outcome: 'later', seconds: 30, reason: 'the network gave the file no id' }
    : { outcome: 'done', value: id }
}

const hosts = /(?:^|\.)(?:fbsbx\.com|facebook\.com|whatsapp\.net|fbcdn\.net)$/

/** True for the network's own hosts, the only ones that may receive our token. */
export const isNetworkHost = (
  settings: Pick<WhatsappCloudSettings, 'base_url' | 'version'>,
  address: string,
): boolean => {
  if (!URL.canParse(address)) return false
  const { protocol, hostname, origin } = new URL(address)
  return origin === new URL(graphOf(settings)).origin || (protocol === 'https:' && hosts.test(hostname))
}

/** Opens a received file. */
export const openMedia = async (
  client: GraphClient,
  settings: WhatsappCloudSettings,
  phone: string,
  id: string,
): Promise<ServiceResult<{ readonly mimeType: string | null; readonly body: Readable }>> => {
  const result = await client.request({ path: encodeURIComponent(id), query: { phone_number_id: phone } })
  if (result.outcome !== 'done') return result
  const address = textOf(result.value.url) ?? ''
  if (!isNetworkHost(settings, address))
    return { outcome: 'refused', reason: 'the file is on a foreign host that must not receive our token' }
  const opened = await client.download(address)
  if (opened.outcome !== 'done') return opened
  const mimeType = textOf(result.value.mime_type) ?? opened.value.mimeType
  return { outcome: 'done', value: { mimeType, body: opened.value.body } }
}

/**
 * Sets the picture of a number with an upload session of the token's app and the resulting handle (Graph API,
 * "Resumable Upload").
 */
export const setPicture = async (client: GraphClient, phone: string, image: Buffer): Promise<ServiceResult<null>> => {
  const type = image[0] === 0x89 ? 'image/png' : 'image/jpeg'
  const session = await client.request({
    method: 'POST',
    path: 'app/uploads',
    query: { file_length: String(image.length), file_type: type, file_name: 'picture' },
  })
  if (session.outcome !== 'done') return retryIfUnknown(session)
  const id = textOf(session.value.id) ?? ''
  if (!/^upload:[^/?#]+(?:\?sig=[^/#]*)?$/.test(id))
    return { outcome: 'refused', reason: 'the network opened no upload session for the picture' }
  const sent = await client.upload({
    path: id,
    headers: { file_offset: '0', 'content-type': type },
    length: image.length,
    body: async function* () {
      yield image
    },
  })
  if (sent.outcome !== 'done') return sent
  const handle = textOf(sent.value.h) ?? ''
  const profile = { messaging_product: 'whatsapp', profile_picture_handle: handle }
  const set = await client.request({ method: 'POST', path: `${phone}/whatsapp_business_profile`, body: profile })
  if (set.outcome !== 'done') return retryIfUnknown(set)
  return fieldsOf(set.value).success === true
    ? { outcome: 'done', value: null }
    : { outcome: 'refused', reason: 'the network rejected the picture' }
}

/** Turns an unknown outcome into a retry, for requests that may be repeated. */
export const retryIfUnknown = <T>(result: ServiceResult<T>): ServiceResult<T> =>
  result.outcome === 'unknown' ? { outcome: 'later', seconds: 5, reason: result.reason } : result
