import { makeSerialQueue } from '../../platform/lib/serial-queue.ts'
import type { ChatContact } from '../../ports/chat.ts'
import type { ServiceResult } from '../../ports/supplier.ts'
import type { BinaryNode, WASocket } from './library.ts'
import type { NumberAliases } from './number-aliases.ts'
import { notLinked, requestOutcome } from './request-outcome.ts'

/** Collection of contacts that the phone and the devices of an account share. */
const collection = 'critical_unblock_low'

const childOf = (node: BinaryNode | undefined, tag: string): BinaryNode | undefined =>
  Array.isArray(node?.content) ? node.content.find((one: BinaryNode) => one.tag === tag) : undefined

/** Error code of a rejected contact change, from a response that is formally a success; null when accepted. */
const contactErrorOf = (node: BinaryNode | Uint8Array): string | null => {
  if (node instanceof Uint8Array || node.tag !== 'iq') return null
  const sync = childOf(node, 'sync')
  const response = (Array.isArray(sync?.content) ? sync.content : []).find(
    ({ tag, attrs }: BinaryNode) => tag === 'collection' && attrs.name === collection,
  )
  if (response?.attrs.type !== 'error') return null
  return childOf(response, 'error')?.attrs.code ?? 'unknown'
}

/** Seconds until a rejected change is retried; null when it never will be accepted. */
const retryAfter = (fault: string): number | null => {
  // Another device changed the collection concurrently.
  if (fault === '409') return 1
  if (fault === '429') return 60
  return Number(fault) >= 500 ? 2 : null
}

/** Address book of an account, synchronised between its phone and devices. */
export type AddressBook = { save(socket: WASocket, contact: ChatContact): Promise<ServiceResult<null>> }

export const makeAddressBook = (aliases: NumberAliases): AddressBook => {
  const change = async (
    socket: WASocket,
    { number, firstName, lastName }: ChatContact,
  ): Promise<ServiceResult<null>> => {
    if (!socket.authState.creds.myAppStateKeyId)
      return {
        outcome: 'later',
        seconds: 2,
        reason: 'the phone has not shared the keys of its address book yet',
      }
    const found = await requestOutcome(() => aliases.resolveJid(socket, number), true)
    if (found.outcome !== 'done') return found
    if (found.value === null)
      return { outcome: 'refused', reason: 'the number is not on the network', code: 'not_on_network' }
    const jid = found.value
    const action = {
      fullName: [firstName, lastName].filter(Boolean).join(' '),
      firstName,
      saveOnPrimaryAddressbook: true,
    }
    let fault: string | null = null
    const onFrame = (node: BinaryNode | Uint8Array) => {
      fault ??= contactErrorOf(node)
    }
    socket.ws.prependListener('frame', onFrame)
    const response = await requestOutcome(() => socket.addOrEditContact(jid, action), true).finally(() =>
      socket.ws.off('frame', onFrame),
    )
    if (response.outcome !== 'done' || fault === null)
      return response.outcome === 'done' ? { outcome: 'done', value: null } : response
    // The library considers its change applied. Its state is dropped and read again before the next change.
    await socket.authState.keys.set({ 'app-state-sync-version': { [collection]: null } })
    const reason = `the network rejected the contact: ${fault}`
    const seconds = retryAfter(fault)
    return seconds === null
      ? { outcome: 'refused', reason, code: fault }
      : { outcome: 'later', seconds, reason, code: fault }
  }

  const queue = makeSerialQueue()
  return {
    // Changes run in sequence: a response does not name its change.
    save: (socket, contact) => queue(() => (socket.ws.isOpen ? change(socket, contact) : notLinked)),
  }
}
