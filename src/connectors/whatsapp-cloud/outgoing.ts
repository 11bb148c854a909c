import type { ChatOutgoing, ChatPeer, ChatTemplate } from '../message-port.ts'
import type { SentAs } from './media.ts'

/** Characters of the text beside a file. */
const longestCaption = 1_024

/** Why a message cannot go as it is: the network carries one thing in a message. Null when it can. */
export const faultOf = ({ text, file, pin }: Pick<ChatOutgoing, 'text' | 'file' | 'pin'>, as: SentAs | null) => {
  if (file && pin) return 'a file and a place go as two messages'
  if (pin && text) return 'a place goes without a text: send it apart, or as the name of the place'
  if (file && as === 'audio' && text) return 'sound goes without a text: send it apart'
  if (file && [...(text ?? '')].length > longestCaption)
    return `the text beside a file may have ${longestCaption} characters`
  return null
}

/** Whom it goes to: a number where one is known, else the network's own id of somebody ("Business-scoped user IDs"). */
export const recipientOf = (to: ChatPeer): object => {
  if (to.group !== undefined) return { recipient_type: 'group', to: to.group }
  if (to.number !== '') return { recipient_type: 'individual', to: to.number.slice(1) }
  return { recipient_type: 'individual', recipient: to.remote }
}

/** A template (Cloud API, "Sending template messages"). */
const templateOf = ({ name, language, parameters = [], components }: ChatTemplate): object => {
  const body = { type: 'body', parameters: parameters.map((text) => ({ type: 'text', text })) }
  const filled = components ?? (parameters.length > 0 ? [body] : [])
  return { name, language: { code: language }, ...(filled.length > 0 ? { components: filled } : {}) }
}

const contentOf = ({ text, file, pin, template }: ChatOutgoing, media: { id: string; as: SentAs } | null): object => {
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

/** The body of `POST /{number}/messages`. Statuses carry our id back. */
export const bodyOf = (message: ChatOutgoing, media: { id: string; as: SentAs } | null): object => ({
  messaging_product: 'whatsapp',
  ...recipientOf(message.to),
  ...contentOf(message, media),
  biz_opaque_callback_data: message.id,
})
