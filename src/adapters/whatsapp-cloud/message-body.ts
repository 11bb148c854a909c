import type { ChatOutgoing, ChatPeer, ChatTemplate } from '../../ports/chat-message.ts'
import { maxCaptionLength } from './limits.ts'
import type { MediaCategory } from './media-files.ts'

/** Error for content that the network cannot carry in one message, or null. */
export const contentError = (
  { text, file, pin }: Pick<ChatOutgoing, 'text' | 'file' | 'pin'>,
  as: MediaCategory | null,
) => {
  if (file && pin) return 'a file and a location need two messages'
  if (pin && text) return 'a location has no caption: send the text separately or as the name of the location'
  if (file && as === 'audio' && text) return 'audio has no caption: send the text separately'
  if (file && [...(text ?? '')].length > maxCaptionLength)
    return `a caption may have at most ${maxCaptionLength} characters`
  return null
}

/** Recipient: the number if known, otherwise the network's id ("Business-scoped user IDs"). */
export const recipientOf = (to: ChatPeer): object => {
  if (to.group !== undefined) return { recipient_type: 'group', to: to.group }
  if (to.number !== '') return { recipient_type: 'individual', to: to.number.slice(1) }
  return { recipient_type: 'individual', recipient: to.remote }
}

/** A template message (Cloud API, "Sending template messages"). */
const templateOf = ({ name, language, parameters = [], components }: ChatTemplate): object => {
  const body = { type: 'body', parameters: parameters.map((text) => ({ type: 'text', text })) }
  const filled = components ?? (parameters.length > 0 ? [body] : [])
  return { name, language: { code: language }, ...(filled.length > 0 ? { components: filled } : {}) }
}

const contentOf = (
  { text, file, pin, template }: ChatOutgoing,
  media: { id: string; as: MediaCategory } | null,
): object => {
  if (template) return { type: 'template', template: templateOf(template) }
  if (media && file) {
    const { id, as } = media
    const name = as === 'document' && file.name ? { filename: file.name } : {}
    return { type: as, [as]: { id, ...(text ? { caption: text } : {}), ...name } }
  }
  if (pin) {
    const { latitude, longitude, name, address } = pin
    return {
      type: 'location',
      location: { latitude, longitude, ...(name ? { name } : {}), ...(address ? { address } : {}) },
    }
  }
  return { type: 'text', text: { body: text ?? '' } }
}

/** Body of `POST /{number}/messages`. Statuses return our id. */
export const bodyOf = (message: ChatOutgoing, media: { id: string; as: MediaCategory } | null): object => ({
  messaging_product: 'whatsapp',
  ...recipientOf(message.to),
  ...contentOf(message, media),
  biz_opaque_callback_data: message.id,
})
