import { makeKeyedQueue, makeSerialQueue } from '../../platform/lib/serial-queue.ts'
import type { ChatChannel, ChatDeps } from '../../ports/chat.ts'
import type { ChatOutgoing, ChatPeer, ChatSendResult } from '../../ports/chat-message.ts'
import type { ServiceResult } from '../../ports/supplier.ts'
import { type AddressBook, makeAddressBook } from './address-book.ts'
import { bareOf, isLid, numberOf } from './codec/jid.ts'
import { type GroupMembers, makeGroupMembers } from './group-members.ts'
import type { BinaryNode, Library, Message, WASocket } from './library.ts'
import { ackTimeoutMs } from './limits.ts'
import { LinkedDevice } from './linked-device.ts'
import { parseMessage, type ResolveNumber } from './message-parser.ts'
import { publishCall, publishGroupChange } from './node-events.ts'
import { makeNumberAliases, type NumberAliases, numberOfLid } from './number-aliases.ts'
import { addressOf, contentError, contentOf, networkId } from './outgoing.ts'
import { publishGroupReceipts, publishReceipts, rejectionReason as refusalOf } from './receipts.ts'
import { notLinked, requestOutcome } from './request-outcome.ts'
import { retry } from './retry.ts'
import type { WhatsappWebSettings } from './whatsapp-web-settings.ts'

export type ChannelSession = {
  readonly aliases: NumberAliases
  readonly addressBook: AddressBook
  readonly members: GroupMembers
  socket(): WASocket | null
  /**
   * Address of a person or group; null for a number that is not on the network. @throws when the network does not
   * respond
   */
  resolveJid(socket: WASocket, to: ChatPeer): Promise<string | null>
  ping(): Promise<boolean>
  send(message: ChatOutgoing): Promise<ServiceResult<ChatSendResult>>
  close(logout: boolean): Promise<void>
}

type Deps = {
  readonly line: ChatChannel
  readonly settings: WhatsappWebSettings
  readonly tools: ChatDeps
  readonly library: Library
}

/** The session of one number: its device, its events and its outgoing messages. */
export const makeChannelSession = ({ line, settings, tools, library }: Deps): ChannelSession => {
  const { events, log } = tools
  const { channel } = line
  const acks = new Map<string, (node: BinaryNode | null) => void>()
  const own = () => ({ written: numberOf(device.me ?? ''), number: line.number })
  const people = makeNumberAliases({ channel, vault: tools.credentials, events, own })
  const members = makeGroupMembers(people)
  /** A join and a leave of one member must keep their order. */
  const groupQueue = makeKeyedQueue()

  /** Persists an event that the network does not repeat. */
  const persist = (what: string, work: () => Promise<void>): Promise<void> =>
    retry(work).catch((error) =>
      log('event-persist-failed', { what, error: error instanceof Error ? error.message : String(error) }),
    )

  const numberOfPerson: ResolveNumber = async (remote, announced) => {
    const written = announced ?? (isLid(remote) ? await numberOfLid(device.connected, remote) : null)
    return written === null ? null : ((await people.requestedNumbers([written])).get(written) ?? written)
  }

  const handleMessage = async (message: Message): Promise<void> => {
    const heard = await parseMessage(library, message, numberOfPerson, bareOf(device.me ?? ''))
    if (heard?.kind === 'message') await events.inbound(channel, heard.message)
    else if (heard?.kind === 'edited') await events.edited(channel, heard.edit)
    else if (heard?.kind === 'reaction') await events.reaction(channel, heard.reaction)
  }

  const mappingQueue = makeSerialQueue()
  const opened = (socket: WASocket) => {
    const { ev, ws } = socket
    members.invalidate()
    // Messages that the phone was asked to resend, because they arrived without content.
    ev.on('messages.upsert', ({ messages, requestId }) => {
      if (requestId) for (const message of messages) void persist('message', () => handleMessage(message))
    })
    ev.on('messages.update', (updates) => void persist('receipt', () => publishReceipts(events, channel, updates)))
    ev.on(
      'message-receipt.update',
      (updates) => void persist('receipt', () => publishGroupReceipts(events, channel, updates, numberOfPerson)),
    )
    ev.on('lid-mapping.update', ({ lid, pn }) => {
      // In sequence: an address book brings thousands at once.
      void mappingQueue(() =>
        persist('mapping', async () => {
          const number = await numberOfPerson(bareOf(lid), numberOf(pn))
          if (number) await events.mapped(channel, bareOf(lid), number)
        }),
      )
    })
    ws.on('CB:call', (node) => void persist('call', () => publishCall(events, channel, node, numberOfPerson)))
    ws.on('CB:notification', ({ attrs }) => members.invalidate(attrs.from ?? ''))
    ws.on('CB:notification', (node) => {
      const tell = () => publishGroupChange(events, channel, node, numberOfPerson)
      void groupQueue(node.attrs.from ?? '', () => persist('group', tell))
    })
    ws.on('CB:ack,class:message', (node) => acks.get(node.attrs.id ?? '')?.(node))
  }

  const device = new LinkedDevice({
    line,
    settings,
    tools,
    library,
    handlers: { opened, handleMessage },
  })
  void device.start()

  const placeOf = async (socket: WASocket, to: ChatPeer): Promise<string | null> => {
    const jid = addressOf(to)
    const number = numberOf(jid)
    return number ? people.resolveJid(socket, number) : jid
  }

  const deliver = async (socket: WASocket, message: ChatOutgoing): Promise<ServiceResult<ChatSendResult>> => {
    const found = await requestOutcome(() => placeOf(socket, message.to), true)
    if (found.outcome !== 'done') return found
    if (found.value === null)
      return { outcome: 'refused', reason: 'the number is not on the network', code: 'not_on_network' }
    const jid = found.value
    const id = networkId(message.id)
    const { promise: answer, resolve: answered } = Promise.withResolvers<BinaryNode | null>()
    acks.set(id, answered)
    const timer = setTimeout(() => answered(null), ackTimeoutMs)
    try {
      const sent = await requestOutcome(() => socket.sendMessage(jid, contentOf(message), { messageId: id }), true)
      if (sent.outcome !== 'done') return sent
      const outcome = await answer
      // A retry has the same id, so recipients drop the duplicate.
      if (!outcome) return { outcome: 'later', seconds: 2, reason: 'the network does not answer' }
      const code = outcome.attrs.error
      if (code !== undefined) return { outcome: 'refused', reason: refusalOf(code), code }
      return { outcome: 'done', value: { id, at: Number(outcome.attrs.t) * 1_000 || Date.now() } }
    } finally {
      clearTimeout(timer)
      acks.delete(id)
    }
  }

  return {
    aliases: people,
    addressBook: makeAddressBook(people),
    members,
    resolveJid: placeOf,
    socket: () => device.connected,
    ping: () => device.ping(),
    send: async (message) => {
      const socket = device.connected
      if (!socket) return notLinked
      const fault = contentError(message)
      return fault === null ? deliver(socket, message) : { outcome: 'refused', reason: fault }
    },
    close: async (logout) => {
      for (const end of acks.values()) end(null)
      await device.close(logout)
    },
  }
}
