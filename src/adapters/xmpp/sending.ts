import type { XmppSettings } from '@trunkline/xmpp/xmpp-settings.ts'
import type { ChatOutgoing, ChatPeer, ChatSendResult } from '../../ports/chat-message.ts'
import type { ServiceResult } from '../../ports/supplier.ts'
import type { ChannelSession } from './channel-session.ts'
import { idAtWriter, isWireId, wireId } from './message-parser.ts'
import { nickIn } from './persisted-state.ts'
import { markerFor, retractionOf, stanzasOf } from './stanza-builder.ts'
import { uploadFile } from './upload.ts'

const retryLater = (reason: string): ServiceResult<never> => ({ outcome: 'later', seconds: 1, reason })

/** URL of an outgoing file: on the server if it stores files, otherwise ours. */
const fileUrlOf = async (
  line: ChannelSession,
  { file }: ChatOutgoing,
  settings: XmppSettings,
): Promise<ServiceResult<string | null>> => {
  if (!file) return { outcome: 'done', value: null }
  const { wire, services } = line.deps
  const found = await services(wire)
  if (found.upload === null || file.size > found.uploadMax) return { outcome: 'done', value: file.url }
  const uploaded = await uploadFile(wire, found, settings, file)
  return uploaded.outcome === 'refused' ? { outcome: 'done', value: file.url } : uploaded
}

/** Reason why the message cannot be sent now, or at all; null when it can. */
const obstacle = (line: ChannelSession, { to }: ChatOutgoing): ServiceResult<never> | null => {
  const { wire, addresses, state } = line.deps
  if (!wire.isUp) return retryLater('the link is down')
  if (!line.isRepaired) return retryLater('missed messages are still being read')
  if (!addresses.isUsable(addresses.ofPeer(to))) return { outcome: 'refused', reason: 'no address' }
  if (to.group === undefined || line.rooms.get(to.group)?.isJoined) return null
  if (nickIn(state.values, to.group) === undefined)
    return { outcome: 'refused', reason: 'the number is not in the group' }
  return retryLater('joining the group')
}

/**
 * Sends a message. An earlier attempt over a broken link may have succeeded. Where an archive exists, it is checked
 * before the message is sent again.
 */
export const send = async (
  line: ChannelSession,
  message: ChatOutgoing,
  settings: XmppSettings,
): Promise<ServiceResult<ChatSendResult>> => {
  const { wire, addresses } = line.deps
  const { acceptedOwn } = line.inbound
  const id = wireId(message.id)
  const before = acceptedOwn.get(id)
  if (before !== undefined) return { outcome: 'done', value: { id, at: before } }
  const hindered = obstacle(line, message)
  if (hindered) return hindered
  const address = await fileUrlOf(line, message, settings)
  if (address.outcome !== 'done') return address
  for (const stanza of stanzasOf(message, addresses.ofPeer(message.to), address.value)) {
    if (acceptedOwn.has(stanza.attrs.id ?? '')) continue
    const delivery = await wire.deliver(stanza)
    if (delivery === 'unsent') return retryLater('the link is down')
    if (delivery === 'lost') {
      return line.hasArchive
        ? retryLater('the link broke; the archive will show whether the server has the message')
        : { outcome: 'unknown', reason: 'the link broke' }
    }
    acceptedOwn.set(stanza.attrs.id ?? '', Date.now())
  }
  return { outcome: 'done', value: { id, at: acceptedOwn.get(id) ?? Date.now() } }
}

/** Sends read markers to the senders (XEP-0333). */
export const markRead = async (
  line: ChannelSession,
  from: ChatPeer,
  ids: readonly string[],
): Promise<ServiceResult<null>> => {
  const { wire, addresses } = line.deps
  const to = addresses.ofPeer(from)
  for (const id of ids) {
    const remoteId = idAtWriter(to, id)
    if (remoteId === null) continue
    if (!wire.send(markerFor(to, remoteId, from.group !== undefined))) return retryLater('the link is down')
  }
  return { outcome: 'done', value: null }
}

/** Asks the recipient to retract a message of ours (XEP-0424). Messages of others are removed from our side only. */
export const remove = async (
  line: ChannelSession,
  from: ChatPeer,
  id: string,
): Promise<ServiceResult<'everyone' | 'us'>> => {
  const { wire, addresses } = line.deps
  const to = addresses.ofPeer(from)
  const remoteId = from.group === undefined ? id : line.rooms.groupIdOf(to, id)
  if (!isWireId(id) || remoteId === null) return { outcome: 'done', value: 'us' }
  const delivery = await wire.deliver(retractionOf(to, remoteId, from.group !== undefined))
  if (delivery === 'accepted') return { outcome: 'done', value: 'everyone' }
  return delivery === 'unsent' ? retryLater('the link is down') : { outcome: 'unknown', reason: 'the link broke' }
}
