import { masked } from '../../lib/phone.ts'
import type { ChatPeer, ChatRemote } from '../message-port.ts'
import { bareOf, parseJid } from './codec/jid.ts'
import type { XmppSettings } from './settings.ts'

/** Longer ones are nobody's that can be written to: they have no room in an index. */
const longestJid = 1_000

/** An address as it may be logged: its first part may be a number. */
export const maskedJid = (jid = ''): string => {
  const { local, domain } = parseJid(jid)
  return `${masked(local)}@${domain}`.slice(0, 200)
}

export type Addresses = {
  jidOf(number: string): string
  /** Where a message to this peer goes. */
  ofPeer(peer: ChatPeer): string
  /** E.164 of an address under our own domains; null for all others: anybody may call an account by a number. */
  numberOf(jid: string): string | null
  remoteOf(jid: string, pushname?: string | null): ChatRemote
  isUsable(jid: string): boolean
  /** The number is one of the connection's own. */
  isOurs(number: string): boolean
}

/** @param isOurs the number is one of the connection's own: in component mode those are under our own address */
export const makeAddresses = (
  { domain, component }: XmppSettings,
  isOurs: (number: string) => boolean = () => false,
): Addresses => {
  const jidOf = (number: string) => `${number.slice(1)}@${component && isOurs(number) ? component : domain}`
  const numberOf = (jid: string) => {
    const { local, domain: where } = parseJid(jid)
    const isTrusted = where === domain || (component !== undefined && where === component)
    return isTrusted && /^[1-9]\d{6,14}$/.test(local) ? `+${local}` : null
  }
  return {
    isOurs,
    jidOf,
    numberOf,
    ofPeer: ({ number, remote, group }) => group ?? remote ?? jidOf(number ?? ''),
    remoteOf: (jid, pushname = null) => ({ number: numberOf(jid), remote: bareOf(jid), pushname }),
    isUsable: (jid) => jid.length > 0 && jid.length <= longestJid,
  }
}
