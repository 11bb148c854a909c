import { createHash } from 'node:crypto'
import type { ChatOutgoing, ChatPeer } from '../message-port.ts'
import { bareOf, isLid, jidOf } from './codec/jid.ts'

/**
 * The network's id of a message of ours: the same when it is sent again, so that who has it already leaves it out. In the form
 * of the application: 3EB0 and 18 hexadecimal digits.
 */
export const networkId = (ours: string): string =>
  `3EB0${createHash('sha256').update(ours).digest('hex').slice(0, 18).toUpperCase()}`

/** Where a message goes: an identity where only that is known, else the number. */
export const addressOf = ({ group, number, remote }: ChatPeer): string => {
  if (group !== undefined) return group
  if (remote && (isLid(remote) || !number)) return bareOf(remote)
  return jidOf(number ?? '')
}

/** Why a message cannot go as it is: the network carries one thing in a message. Null when it can. */
export const faultOf = ({ text, file, pin }: Pick<ChatOutgoing, 'text' | 'file' | 'pin'>): string | null => {
  if (file && pin) return 'a file and a place go as two messages'
  if (pin && text) return 'a place goes without a text: send it apart, or as the name of the place'
  if (file?.type === 'audio' && text) return 'sound goes without a text: send it apart'
  return null
}

/** What applications show as a picture or a film; all else goes as a document. */
const shown = { image: /^image\/(?:jpeg|png|webp)$/, video: /^video\/(?:mp4|3gpp)$/, audio: /^audio\//, document: /^$/ }

/** A message as the library takes it. */
export const contentOf = ({ text, file, pin }: ChatOutgoing): object => {
  if (file) {
    const { type, mimeType: mimetype, name: fileName } = file
    const as = shown[type].test(mimetype) ? type : 'document'
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
  // No preview: it would fetch what the text names.
  return { text: text ?? '', linkPreview: null }
}
