import type {
  ChatCard,
  ChatContent,
  ChatInbound,
  ChatLocation,
  ChatMediaRef,
  ChatMediaType,
  ChatParty,
} from '../../ports/chat-message.ts'
import { bareOf, isGroup, isPerson, numberOf } from './codec/jid.ts'
import type { Content, FileContent, Library, Message } from './library.ts'
import { fileId } from './media-download.ts'
import { contentOf, referencesOf } from './message-content.ts'

/** Event parsed from an incoming message. */
export type IncomingEvent =
  | { readonly kind: 'message'; readonly message: ChatInbound }
  | { readonly kind: 'edited'; readonly edit: { readonly id: string; readonly text: string; readonly at: number } }
  | {
      readonly kind: 'reaction'
      readonly reaction: {
        readonly id: string
        readonly by: ChatParty
        readonly emoji: string | null
        readonly at: number
      }
    }

const editType = 14

export const countOf = (value: number | { toNumber(): number } | null | undefined): number =>
  typeof value === 'object' && value !== null ? value.toNumber() : (value ?? 0)

/**
 * Resolves the number of a person as it was requested, from the address and the number sent with it; null when unknown.
 */
export type ResolveNumber = (remote: string, announced: string | null) => Promise<string | null>

/** The person of an address or alternate address. The digits of an identity are never treated as a phone number. */
export const remoteOf = async (
  jid: string,
  alternate: string | null | undefined,
  pushname: string | null,
  numberOfPerson: ResolveNumber,
): Promise<ChatParty> => {
  const remote = bareOf(jid)
  const written = numberOf(jid) ?? (alternate ? numberOf(alternate) : null)
  return { number: await numberOfPerson(remote, written), remote, pushname }
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

const pinOf = ({ locationMessage, liveLocationMessage }: Content): ChatLocation | null => {
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

const cardText = ({ name, phones }: ChatCard): string =>
  [name.formatted_name, ...phones.map(({ phone }) => phone)].filter(Boolean).join(', ')

/**
 * Text for content without a type of its own, prefixed with its kind. The choice of a button or list becomes its label.
 */
const fallbackTextOf = (content: Content, structured: ChatContent | null): string | null => {
  if (structured?.kind === 'contacts') return ['[contact]', ...structured.contacts.map(cardText)].join('\n')
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
 * Parses a message, or returns null when it is not for people: keys, application state, channels, statuses.
 * @param own our own address, without the device
 */
export const parseMessage = async (
  library: Library,
  { key, messageTimestamp, pushName, message }: Message,
  numberOfPerson: ResolveNumber,
  own: string,
): Promise<IncomingEvent | null> => {
  const { id, remoteJid } = key
  const content = library.normalizeMessageContent(message)
  if (!id || !remoteJid || !content || !(isGroup(remoteJid) || isPerson(remoteJid))) return null
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
    return { kind: 'reaction', reaction: { id: reactionMessage.key.id, by, emoji: reactionMessage.text || null, at } }
  }
  if (protocolMessage) {
    const edited = library.normalizeMessageContent(protocolMessage.editedMessage)
    const text = edited && (textOf(edited) ?? mediaOf(edited)?.file.caption)
    const about = protocolMessage.key?.id
    return protocolMessage.type === editType && about && text ? { kind: 'edited', edit: { id: about, text, at } } : null
  }

  const found = mediaOf(content)
  const structured = contentOf(content)
  const text = textOf(content) ?? found?.file.caption ?? fallbackTextOf(content, structured)
  const pin = pinOf(content)
  if (text === null && !found && !pin) return null
  return {
    kind: 'message',
    message: {
      ...{ id, from, group, at, text: text || null, media: found?.media ?? null, pin, own: isOwn },
      content: structured,
      ...referencesOf(content),
    },
  }
}
