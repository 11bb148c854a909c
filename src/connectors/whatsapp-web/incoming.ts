import type { ChatInbound, ChatMediaRef, ChatMediaType, ChatPin, ChatRemote } from '../message-port.ts'
import { bareOf, isGroup, isSomebody, numberOf } from './codec/jid.ts'
import { fileId } from './files.ts'
import type { Content, FileContent, Library, Message } from './library.ts'

/** What a message turned out to be. */
export type Heard =
  | { readonly news: 'message'; readonly message: ChatInbound }
  | { readonly news: 'edited'; readonly edit: { readonly id: string; readonly text: string; readonly at: number } }
  | {
      readonly news: 'reaction'
      readonly reaction: {
        readonly id: string
        readonly by: ChatRemote
        readonly emoji: string | null
        readonly at: number
      }
    }

/** `WAProto`, Message.ProtocolMessage.Type.MESSAGE_EDIT. */
const editType = 14

export const countOf = (value: number | { toNumber(): number } | null | undefined): number =>
  typeof value === 'object' && value !== null ? value.toNumber() : (value ?? 0)

/** The number of somebody as it was asked for; of an address, and of the number that the network told with it. Null when unknown. */
export type NumberOfPerson = (remote: string, told: string | null) => Promise<string | null>

/** Somebody by their address, or by another one of theirs. An identity of digits that is no number never becomes one. */
export const remoteOf = async (
  jid: string,
  alternate: string | null | undefined,
  pushname: string | null,
  numberOfPerson: NumberOfPerson,
): Promise<ChatRemote> => {
  const remote = bareOf(jid)
  const told = numberOf(jid) ?? (alternate ? numberOf(alternate) : null)
  return { number: await numberOfPerson(remote, told), remote, pushname }
}

const kinds = [
  ['imageMessage', 'image', 'image'],
  ['videoMessage', 'video', 'video'],
  ['ptvMessage', 'video', 'video'],
  ['audioMessage', 'audio', 'audio'],
  ['documentMessage', 'document', 'document'],
  ['stickerMessage', 'image', 'sticker'],
] as const satisfies readonly (readonly [keyof Content, ChatMediaType, string])[]

const mediaOf = (content: Content): { file: FileContent; media: ChatMediaRef } | null => {
  for (const [field, type, kind] of kinds) {
    const file = content[field]
    const id = file && fileId(kind, file)
    if (!file || !id) continue
    const size = countOf(file.fileLength)
    const { mimetype: mimeType = null, fileName: name = null } = file
    return { file, media: { ref: { id }, type, mimeType, name, size: size > 0 ? size : null } }
  }
  return null
}

const pinOf = ({ locationMessage, liveLocationMessage }: Content): ChatPin | null => {
  const place = locationMessage ?? liveLocationMessage
  const { degreesLatitude: latitude, degreesLongitude: longitude, name, address, url } = place ?? {}
  if (typeof latitude !== 'number' || typeof longitude !== 'number') return null
  return {
    latitude,
    longitude,
    ...(name ? { name } : {}),
    ...(address ? { address } : {}),
    ...(url ? { url } : {}),
  }
}

const textOf = ({ conversation, extendedTextMessage }: Content): string | null =>
  conversation || extendedTextMessage?.text || null

/** Of a card: the name and the numbers (vCard, RFC 6350, 6.4.1). */
const cardOf = ({ displayName, vcard }: NonNullable<Content['contactMessage']>): string => {
  const numbers = [...(vcard ?? '').matchAll(/^(?:\w+\.)?TEL[^:\r\n]*:(?:tel:)?(.+)$/gim)].map(([, told = '']) =>
    told.trim(),
  )
  return [displayName, ...numbers].filter(Boolean).join(', ')
}

/** What has no place of its own is told as a text, its kind before it; the choice of a button or a list is what it says. */
const wordsOf = (content: Content): string | null => {
  const { contactMessage, contactsArrayMessage } = content
  const cards = contactMessage ? [contactMessage] : (contactsArrayMessage?.contacts ?? [])
  if (cards.length > 0) return ['[contact]', ...cards.map(cardOf)].join('\n')
  const poll =
    content.pollCreationMessage ??
    content.pollCreationMessageV2 ??
    content.pollCreationMessageV3 ??
    content.pollCreationMessageV5
  if (poll) {
    const options = (poll.options ?? []).map(({ optionName }) => `- ${optionName ?? ''}`)
    return [`[poll] ${poll.name ?? ''}`, ...options].join('\n')
  }
  return (
    content.buttonsResponseMessage?.selectedDisplayText ||
    content.templateButtonReplyMessage?.selectedDisplayText ||
    content.listResponseMessage?.title ||
    content.interactiveResponseMessage?.body?.text ||
    null
  )
}

/**
 * What a message says, or null when it is none for people: keys, states of the application, channels, statuses.
 * @param own address of our own, without the device
 */
export const readMessage = async (
  library: Library,
  { key, messageTimestamp, pushName, message }: Message,
  numberOfPerson: NumberOfPerson,
  own: string,
): Promise<Heard | null> => {
  const { id, remoteJid } = key
  const content = library.normalizeMessageContent(message)
  if (!id || !remoteJid || !content || !(isGroup(remoteJid) || isSomebody(remoteJid))) return null
  const at = countOf(messageTimestamp) * 1_000
  const isOwn = key.fromMe === true
  const group = isGroup(remoteJid) ? { id: remoteJid, name: null } : null
  const pushname = isOwn ? null : (pushName ?? null)
  const from = group
    ? await remoteOf(key.participant ?? own, key.participantAlt, pushname, numberOfPerson)
    : await remoteOf(remoteJid, isOwn ? null : key.remoteJidAlt, pushname, numberOfPerson)

  const { reactionMessage, protocolMessage } = content
  if (reactionMessage?.key?.id) {
    const by = isOwn ? await remoteOf(own, null, null, numberOfPerson) : from
    return { news: 'reaction', reaction: { id: reactionMessage.key.id, by, emoji: reactionMessage.text || null, at } }
  }
  if (protocolMessage) {
    const edited = library.normalizeMessageContent(protocolMessage.editedMessage)
    const text = edited && (textOf(edited) ?? mediaOf(edited)?.file.caption)
    const about = protocolMessage.key?.id
    return protocolMessage.type === editType && about && text ? { news: 'edited', edit: { id: about, text, at } } : null
  }

  const found = mediaOf(content)
  const text = textOf(content) ?? found?.file.caption ?? wordsOf(content)
  const pin = pinOf(content)
  if (text === null && !found && !pin) return null
  return {
    news: 'message',
    message: { id, from, group, at, text: text || null, media: found?.media ?? null, pin, own: isOwn },
  }
}
