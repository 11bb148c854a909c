import type { ChatOutgoing, ChatPeer, ChatSent } from '../message-port.ts'
import type { Asked } from '../port.ts'
import type { Line } from './line.ts'
import { nickIn } from './memory.ts'
import { idAtWriter, isWireId, wireId } from './messages.ts'
import { markerFor, retractionOf, stanzasOf } from './outgoing.ts'
import type { XmppSettings } from './settings.ts'
import { uploadFile } from './upload.ts'

const later = (reason: string): Asked<never> => ({ outcome: 'later', seconds: 1, reason })

/** Where a file of ours is found: on the server where that keeps files, else with us. */
const addressOf = async (line: Line, { file }: ChatOutgoing, settings: XmppSettings): Promise<Asked<string | null>> => {
  if (!file) return { outcome: 'done', value: null }
  const { wire, services } = line.parts
  const found = await services(wire)
  if (found.upload === null || file.size > found.uploadMax) return { outcome: 'done', value: file.url }
  const uploaded = await uploadFile(wire, found, settings, file)
  return uploaded.outcome === 'refused' ? { outcome: 'done', value: file.url } : uploaded
}

/** Why it cannot be sent now, or ever; null when it can. */
const obstacle = (line: Line, { to }: ChatOutgoing): Asked<never> | null => {
  const { wire, addresses, memory } = line.parts
  if (!wire.isUp) return later('the link is down')
  if (!line.isRepaired) return later('what was missed is still being read')
  if (!addresses.isUsable(addresses.ofPeer(to))) return { outcome: 'refused', reason: 'no address' }
  if (to.group === undefined || line.rooms.get(to.group)?.isIn) return null
  if (nickIn(memory.now, to.group) === undefined)
    return { outcome: 'refused', reason: 'the number is not in the group' }
  return later('the group is being entered')
}

/**
 * Sends a message. What may have come through at an earlier try, over a link that broke, is looked for in the archive
 * before it is sent again, where there is one.
 */
export const send = async (line: Line, message: ChatOutgoing, settings: XmppSettings): Promise<Asked<ChatSent>> => {
  const { wire, addresses } = line.parts
  const { known } = line.intake
  const id = wireId(message.id)
  const before = known.get(id)
  if (before !== undefined) return { outcome: 'done', value: { id, at: before } }
  const hindered = obstacle(line, message)
  if (hindered) return hindered
  const address = await addressOf(line, message, settings)
  if (address.outcome !== 'done') return address
  for (const stanza of stanzasOf(message, addresses.ofPeer(message.to), address.value)) {
    if (known.has(stanza.attrs.id ?? '')) continue
    const delivery = await wire.deliver(stanza)
    if (delivery === 'unsent') return later('the link is down')
    if (delivery === 'lost') {
      return line.hasArchive
        ? later('the link broke: the archive tells whether the server has it')
        : { outcome: 'unknown', reason: 'the link broke' }
    }
    known.set(stanza.attrs.id ?? '', Date.now())
  }
  return { outcome: 'done', value: { id, at: known.get(id) ?? Date.now() } }
}

/** Tells the writers that their messages were read (XEP-0333). */
export const markRead = async (line: Line, from: ChatPeer, ids: readonly string[]): Promise<Asked<null>> => {
  const { wire, addresses } = line.parts
  const to = addresses.ofPeer(from)
  for (const id of ids) {
    const there = idAtWriter(to, id)
    if (there === null) continue
    if (!wire.send(markerFor(to, there, from.group !== undefined))) return later('the link is down')
  }
  return { outcome: 'done', value: null }
}

/** Asks the other side to forget a message of ours (XEP-0424); of what others wrote only our own copy can go. */
export const remove = async (line: Line, from: ChatPeer, id: string): Promise<Asked<'everyone' | 'us'>> => {
  const { wire, addresses } = line.parts
  const to = addresses.ofPeer(from)
  const there = from.group === undefined ? id : line.rooms.placeOf(to, id)
  if (!isWireId(id) || there === null) return { outcome: 'done', value: 'us' }
  const delivery = await wire.deliver(retractionOf(to, there, from.group !== undefined))
  if (delivery === 'accepted') return { outcome: 'done', value: 'everyone' }
  return delivery === 'unsent' ? later('the link is down') : { outcome: 'unknown', reason: 'the link broke' }
}
