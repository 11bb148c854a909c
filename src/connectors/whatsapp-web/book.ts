import type { ChatContact } from '../chat-port.ts'
import type { Asked } from '../port.ts'
import { asked, gone } from './asked.ts'
import type { Node, Socket } from './library.ts'
import type { People } from './people.ts'

/** What phone and devices of an account share of contacts, under this name. */
const collection = 'critical_unblock_low'

const childOf = (node: Node | undefined, tag: string): Node | undefined =>
  Array.isArray(node?.content) ? node.content.find((one: Node) => one.tag === tag) : undefined

/** What the network says of a change of contacts that it did not take, within an answer that is no error; null when it says nothing. */
const faultOf = (node: Node | Uint8Array): string | null => {
  if (node instanceof Uint8Array || node.tag !== 'iq') return null
  const sync = childOf(node, 'sync')
  const told = (Array.isArray(sync?.content) ? sync.content : []).find(
    ({ tag, attrs }: Node) => tag === 'collection' && attrs.name === collection,
  )
  if (told?.attrs.type !== 'error') return null
  return childOf(told, 'error')?.attrs.code ?? 'unknown'
}

/** Seconds after which a change is made again that the network did not take; null when it never will. */
const againAfter = (fault: string): number | null => {
  // Somebody changed something meanwhile.
  if (fault === '409') return 1
  if (fault === '429') return 60
  return Number(fault) >= 500 ? 2 : null
}

/** The address book of an account: its phone has it, and its devices keep it with the phone. */
export type Book = { keep(socket: Socket, contact: ChatContact): Promise<Asked<null>> }

export const makeBook = (people: People): Book => {
  const change = async (socket: Socket, { number, firstName, lastName }: ChatContact): Promise<Asked<null>> => {
    if (!socket.authState.creds.myAppStateKeyId)
      return {
        outcome: 'later',
        seconds: 2,
        reason: 'the phone has not shared the keys of its address book yet',
      }
    const found = await asked(() => people.placeOf(socket, number), true)
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
    const hear = (node: Node | Uint8Array) => {
      fault ??= faultOf(node)
    }
    socket.ws.prependListener('frame', hear)
    const told = await asked(() => socket.addOrEditContact(jid, action), true).finally(() =>
      socket.ws.off('frame', hear),
    )
    if (told.outcome !== 'done' || fault === null)
      return told.outcome === 'done' ? { outcome: 'done', value: null } : told
    // The library takes its change for made: what it knows is let go, and read anew before the next.
    await socket.authState.keys.set({ 'app-state-sync-version': { [collection]: null } })
    const reason = `the network did not take the contact: ${fault}`
    const seconds = againAfter(fault)
    return seconds === null
      ? { outcome: 'refused', reason, code: fault }
      : { outcome: 'later', seconds, reason, code: fault }
  }

  let turn: Promise<unknown> = Promise.resolve()
  return {
    // One after the other: an answer does not say which change it is about.
    keep: (socket, contact) => {
      const done = turn.then(() => (socket.ws.isOpen ? change(socket, contact) : gone))
      turn = done.catch(() => {})
      return done
    },
  }
}
