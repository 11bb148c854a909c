import { createHash } from 'node:crypto'
import type { ChatOutgoing, ChatPeer } from '../../ports/chat-message.ts'
import { bareOf, isLid, jidOf } from './codec/jid.ts'

/**
 * The network's id of a message of ours, identical on a retry so that recipients drop duplicates. The application's
 * format: 3EB0 and 18 hexadecimal digits.
 */
export const networkId = (ours: string): string =>
  `3EB0${createHash('sha256').update(ours).digest('hex').slice(0, 18).toUpperCase()}`

/** Address of a recipient: an identity when only that is known, otherwise the number. */
export const addressOf = ({ group, number, remote }: ChatPeer): string => {
  if (group !== undefined) return group
  if (remote && (isLid(remote) || !number)) return bareOf(remote)
  return jidOf(number ?? '')
}

/** Error for content that the network cannot carry in one message, or null. */
export const contentError = ({ text, file, pin }: Pick<ChatOutgoing, 'text' | 'file' | 'pin'>): string | null => {
  if (file && pin) return 'a file and a location need two messages'
  if (pin && text) return 'a location has no caption: send the text separately or as the name of the location'
  if (file?.type === 'audio' && text) return 'audio has no caption: send the text separately'
  return null
}

/** Types that applications display inline; others are sent as documents. */
const inlineTypes = {
  image: /^image\/(?:jpeg|png|webp)$/,
  video: /^video\/(?:mp4|3gpp)$/,
  audio: /^audio\//,
  document: /^$/,
}

/** Message content in the library's format. */
export const contentOf = ({ text, file, pin }: ChatOutgoing): object => {
  if (file) {
    const { type, mimeType: mimetype, name: fileName } = file
    const as = inlineTypes[type].test(mimetype) ? type : 'document'
    return {
      [as]: { stream: file.open() },
      mimetype,
      ...(as === 'document' ? { fileName: fileName || 'file' } : {}),
      ...(text ? { caption: text } : {}),
    }
  }
  if (pin) {
    const { latitude, longitude, name, address, url } = pin
    return {
      location: {
        degreesLatitude: latitude,
        degreesLongitude: longitude,
        ...(name ? { name } : {}),
        ...(address ? { address } : {}),
        ...(url ? { url } : {}),
      },
    }
  }
  // No preview: it would fetch URLs in the text.
  return { text: text ?? '', linkPreview: null }
}
