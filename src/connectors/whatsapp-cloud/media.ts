import { randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import type { ChatFile } from '../message-port.ts'
import type { Asked } from '../port.ts'
import type { Client } from './client.ts'
import { fieldsOf, textOf } from './codec/fields.ts'
import { graphOf, type WhatsappCloudSettings } from './settings.ts'

/** What the network takes as pictures, films and sound (Cloud API, "Media"); anything else goes as a document. */
const types = {
  image: new Set(['image/jpeg', 'image/png']),
  video: new Set(['video/mp4', 'video/3gpp']),
  audio: new Set(['audio/aac', 'audio/amr', 'audio/mpeg', 'audio/mp4', 'audio/ogg']),
} as const

export type SentAs = keyof typeof types | 'document'

export const sentAs = ({ type, mimeType }: Pick<ChatFile, 'type' | 'mimeType'>): SentAs => {
  const [mime = ''] = mimeType.toLowerCase().split(';')
  return type !== 'document' && types[type].has(mime.trim()) ? type : 'document'
}

/** A value of a header's parameter (RFC 7578, 4.2): without what would end it. */
const quoted = (name: string): string => name.replace(/["\r\n\\]/g, '_')

/** Gives the network a file. @returns its id there */
export const uploadFile = async (client: Client, phone: string, file: ChatFile): Promise<Asked<string>> => {
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
  const told = await client.upload({
    path: `${phone}/media`,
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
    length: before.length + file.size + after.length,
    body: async function* () {
      yield before
      yield* file.open()
      yield after
    },
  })
  if (told.outcome !== 'done') return told
  const id = textOf(told.value.id)
  return id === null
    ? { outcome: 'later', seconds: 30, reason: 'the network gave the file no id' }
    : { outcome: 'done', value: id }
}

const hosts = /(?:^|\.)(?:fbsbx\.com|facebook\.com|whatsapp\.net|fbcdn\.net)$/

/** Whether our token may be shown to whoever is behind an address: the network itself, and nobody else. */
export const isOfNetwork = (
  settings: Pick<WhatsappCloudSettings, 'base_url' | 'version'>,
  address: string,
): boolean => {
  if (!URL.canParse(address)) return false
  const { protocol, hostname, origin } = new URL(address)
  return origin === new URL(graphOf(settings)).origin || (protocol === 'https:' && hosts.test(hostname))
}

/** The bytes of a file that came in. */
export const openMedia = async (
  client: Client,
  settings: WhatsappCloudSettings,
  phone: string,
  id: string,
): Promise<Asked<{ readonly mimeType: string | null; readonly body: Readable }>> => {
  const told = await client.ask({ path: encodeURIComponent(id), query: { phone_number_id: phone } })
  if (told.outcome !== 'done') return told
  const address = textOf(told.value.url) ?? ''
  if (!isOfNetwork(settings, address))
    return { outcome: 'refused', reason: 'the network says that the file is elsewhere, where our token must not go' }
  const opened = await client.download(address)
  if (opened.outcome !== 'done') return opened
  const mimeType = textOf(told.value.mime_type) ?? opened.value.mimeType
  return { outcome: 'done', value: { mimeType, body: opened.value.body } }
}

/**
 * Sets the picture of a number: by an upload session of the app whose token it is, and the handle that it ends with
 * (Graph API, "Resumable Upload").
 */
export const setPicture = async (client: Client, phone: string, image: Buffer): Promise<Asked<null>> => {
  const type = image[0] === 0x89 ? 'image/png' : 'image/jpeg'
  const session = await client.ask({
    method: 'POST',
    path: 'app/uploads',
    query: { file_length: String(image.length), file_type: type, file_name: 'picture' },
  })
  if (session.outcome !== 'done') return repeatable(session)
  const id = textOf(session.value.id) ?? ''
  if (!/^upload:[^/?#]+(?:\?sig=[^/#]*)?$/.test(id))
    return { outcome: 'refused', reason: 'the network gave no place for the picture' }
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
  const set = await client.ask({ method: 'POST', path: `${phone}/whatsapp_business_profile`, body: profile })
  if (set.outcome !== 'done') return repeatable(set)
  return fieldsOf(set.value).success === true
    ? { outcome: 'done', value: null }
    : { outcome: 'refused', reason: 'the network did not take the picture' }
}

/** What may be asked again whether or not it was done. */
export const repeatable = <T>(told: Asked<T>): Asked<T> =>
  told.outcome === 'unknown' ? { outcome: 'later', seconds: 5, reason: told.reason } : told
