import type { ChatLine, ChatTools } from '../chat-port.ts'
import type { ChatOutgoing, ChatSent } from '../message-port.ts'
import type { Asked } from '../port.ts'
import { asked, gone } from './asked.ts'
import { locate } from './checks.ts'
import { bareOf, numberOf } from './codec/jid.ts'
import { Device } from './device.ts'
import { readMessage } from './incoming.ts'
import { insist } from './insist.ts'
import type { Library, Message, Node, Socket } from './library.ts'
import { tellCall, tellGroup } from './notices.ts'
import { addressOf, contentOf, faultOf, networkId } from './outgoing.ts'
import { faultOf as refusalOf, tellGroupReceipts, tellUpdates } from './receipts.ts'
import type { WhatsappWebSettings } from './settings.ts'

/** How long the network may take to say that it has a message. */
const answerMs = 15_000
/** Numbers that are known to be there, of each line. */
const mostKnown = 5_000

export type WebLine = {
  socket(): Socket | null
  prove(): Promise<boolean>
  send(message: ChatOutgoing): Promise<Asked<ChatSent>>
  close(logout: boolean): Promise<void>
}

type Given = {
  readonly line: ChatLine
  readonly settings: WhatsappWebSettings
  readonly tools: ChatTools
  readonly library: Library
}

/** A number on the network: its device, what it tells, and what is sent from it. */
export const makeLine = ({ line, settings, tools, library }: Given): WebLine => {
  const { events, log } = tools
  const { channel } = line
  const acks = new Map<string, (node: Node | null) => void>()
  /** By the number that was asked for: where it is. */
  const known = new Map<string, string>()

  /** Keeps what the network has told already and tells no second time. */
  const keep = (what: string, work: () => Promise<void>): void =>
    void insist(work).catch((error) =>
      log('could not keep what it was told', { what, error: error instanceof Error ? error.message : String(error) }),
    )

  const numberOfLid = async (lid: string): Promise<string | null> => {
    const found = await device.connected?.signalRepository.lidMapping.getPNForLID(lid).catch(() => null)
    return found ? numberOf(found) : null
  }

  const take = async (message: Message): Promise<void> => {
    const own = bareOf(device.me ?? '')
    const heard = await readMessage(library, message, numberOfLid, own)
    if (heard?.news === 'message') await events.inbound(channel, heard.message)
    else if (heard?.news === 'edited') await events.edited(channel, heard.edit)
    else if (heard?.news === 'reaction') await events.reaction(channel, heard.reaction)
  }

  const opened = (socket: Socket) => {
    const { ev, ws } = socket
    // What the phone was asked for again, since it came in without its content.
    ev.on('messages.upsert', ({ messages, requestId }) => {
      if (requestId) for (const message of messages) keep('message', () => take(message))
    })
    ev.on('messages.update', (updates) => keep('receipt', () => tellUpdates(events, channel, updates)))
    ev.on('message-receipt.update', (updates) =>
      keep('receipt', () => tellGroupReceipts(events, channel, updates, numberOfLid)),
    )
    ev.on('lid-mapping.update', ({ lid, pn }) => {
      const number = numberOf(pn)
      if (number) keep('mapping', () => events.mapped(channel, bareOf(lid), number))
    })
    ws.on('CB:call', (node) => keep('call', () => tellCall(events, channel, node, numberOfLid)))
    ws.on('CB:notification', (node) => keep('group', () => tellGroup(events, channel, node, numberOfLid)))
    ws.on('CB:ack,class:message', (node) => acks.get(node.attrs.id ?? '')?.(node))
  }

  const device = new Device({ line, settings, tools, library, handlers: { opened, take } })
  void device.start()

  /** Where somebody is, who was not written to before; null for who is not on the network. */
  const placeOf = async (socket: Socket, message: ChatOutgoing): Promise<string | null> => {
    const jid = addressOf(message.to)
    const number = numberOf(jid)
    if (!number) return jid
    const before = known.get(number)
    if (before) return before
    const places = await locate(socket, [number])
    const place = places.get(number)
    if (place === undefined) throw new Error('the network does not answer')
    if (place === null) return null
    if (known.size >= mostKnown) known.delete(known.keys().next().value ?? '')
    known.set(number, place)
    return place
  }

  const deliver = async (socket: Socket, message: ChatOutgoing): Promise<Asked<ChatSent>> => {
    const found = await asked(() => placeOf(socket, message), true)
    if (found.outcome !== 'done') return found
    if (found.value === null)
      return { outcome: 'refused', reason: 'the number is not on the network', code: 'not_on_network' }
    const jid = found.value
    const id = networkId(message.id)
    const { promise: answer, resolve: answered } = Promise.withResolvers<Node | null>()
    acks.set(id, answered)
    const timer = setTimeout(() => answered(null), answerMs)
    try {
      const sent = await asked(() => socket.sendMessage(jid, contentOf(message), { messageId: id }), true)
      if (sent.outcome !== 'done') return sent
      const told = await answer
      // Sent again it has the same id: who has it leaves it out.
      if (!told) return { outcome: 'later', seconds: 2, reason: 'the network does not answer' }
      const code = told.attrs.error
      if (code !== undefined) return { outcome: 'refused', reason: refusalOf(code), code }
      return { outcome: 'done', value: { id, at: Number(told.attrs.t) * 1_000 || Date.now() } }
    } finally {
      clearTimeout(timer)
      acks.delete(id)
    }
  }

  return {
    socket: () => device.connected,
    prove: () => device.prove(),
    send: async (message) => {
      const socket = device.connected
      if (!socket) return gone
      const fault = faultOf(message)
      return fault === null ? deliver(socket, message) : { outcome: 'refused', reason: fault }
    },
    close: async (logout) => {
      for (const end of acks.values()) end(null)
      await device.close(logout)
    },
  }
}
