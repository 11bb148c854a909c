import type { ChatLine, ChatTools } from '../chat-port.ts'
import type { ChatOutgoing, ChatPeer, ChatSent } from '../message-port.ts'
import type { Asked } from '../port.ts'
import { asked, gone } from './asked.ts'
import { type Book, makeBook } from './book.ts'
import { bareOf, isLid, numberOf } from './codec/jid.ts'
import { Device } from './device.ts'
import { type NumberOfPerson, readMessage } from './incoming.ts'
import { insist } from './insist.ts'
import type { Library, Message, Node, Socket } from './library.ts'
import { type Members, makeMembers } from './members.ts'
import { tellCall, tellGroup } from './notices.ts'
import { addressOf, contentOf, faultOf, networkId } from './outgoing.ts'
import { makePeople, type People } from './people.ts'
import { faultOf as refusalOf, tellGroupReceipts, tellUpdates } from './receipts.ts'
import type { WhatsappWebSettings } from './settings.ts'

/** How long the network may take to say that it has a message. */
const answerMs = 15_000

export type WebLine = {
  readonly people: People
  readonly book: Book
  readonly members: Members
  socket(): Socket | null
  /** Where somebody or a group is; null for who is not on the network. @throws when the network does not answer */
  placeOf(socket: Socket, to: ChatPeer): Promise<string | null>
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
  const own = () => ({ written: numberOf(device.me ?? ''), number: line.number })
  const people = makePeople({ channel, vault: tools.vault, events, own })
  const members = makeMembers(people)

  /** Keeps what the network has told already and tells no second time. */
  const keep = (what: string, work: () => Promise<void>): Promise<void> =>
    insist(work).catch((error) =>
      log('could not keep what it was told', { what, error: error instanceof Error ? error.message : String(error) }),
    )

  const numberOfLid = async (lid: string): Promise<string | null> => {
    const found = await device.connected?.signalRepository.lidMapping.getPNForLID(lid).catch(() => null)
    return found ? numberOf(found) : null
  }

  const numberOfPerson: NumberOfPerson = async (remote, told) => {
    const written = told ?? (isLid(remote) ? await numberOfLid(remote) : null)
    return written === null ? null : ((await people.asAsked([written])).get(written) ?? written)
  }

  const take = async (message: Message): Promise<void> => {
    const heard = await readMessage(library, message, numberOfPerson, bareOf(device.me ?? ''))
    if (heard?.news === 'message') await events.inbound(channel, heard.message)
    else if (heard?.news === 'edited') await events.edited(channel, heard.edit)
    else if (heard?.news === 'reaction') await events.reaction(channel, heard.reaction)
  }

  let mapping: Promise<void> = Promise.resolve()
  const opened = (socket: Socket) => {
    const { ev, ws } = socket
    members.forget()
    // What the phone was asked for again, since it came in without its content.
    ev.on('messages.upsert', ({ messages, requestId }) => {
      if (requestId) for (const message of messages) void keep('message', () => take(message))
    })
    ev.on('messages.update', (updates) => void keep('receipt', () => tellUpdates(events, channel, updates)))
    ev.on(
      'message-receipt.update',
      (updates) => void keep('receipt', () => tellGroupReceipts(events, channel, updates, numberOfPerson)),
    )
    ev.on('lid-mapping.update', ({ lid, pn }) => {
      // One after the other: an address book brings thousands at once.
      mapping = mapping.then(() =>
        keep('mapping', async () => {
          const number = await numberOfPerson(bareOf(lid), numberOf(pn))
          if (number) await events.mapped(channel, bareOf(lid), number)
        }),
      )
    })
    ws.on('CB:call', (node) => void keep('call', () => tellCall(events, channel, node, numberOfPerson)))
    ws.on('CB:notification', ({ attrs }) => members.forget(attrs.from ?? ''))
    ws.on('CB:notification', (node) => void keep('group', () => tellGroup(events, channel, node, numberOfPerson)))
    ws.on('CB:ack,class:message', (node) => acks.get(node.attrs.id ?? '')?.(node))
  }

  const device = new Device({ line, settings, tools, library, handlers: { opened, take } })
  void device.start()

  const placeOf = async (socket: Socket, to: ChatPeer): Promise<string | null> => {
    const jid = addressOf(to)
    const number = numberOf(jid)
    return number ? people.placeOf(socket, number) : jid
  }

  const deliver = async (socket: Socket, message: ChatOutgoing): Promise<Asked<ChatSent>> => {
    const found = await asked(() => placeOf(socket, message.to), true)
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
    people,
    book: makeBook(people),
    members,
    placeOf,
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
