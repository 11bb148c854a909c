import { maskNumber } from '@trunkline/phone/phone.ts'
import { bareOf, parseJid } from '@trunkline/xmpp/jid.ts'
import type { XmppSettings } from '@trunkline/xmpp/xmpp-settings.ts'
import type { ChatParty, ChatPeer } from '../../ports/chat-message.ts'
import { maxJidLength } from './limits.ts'

/** Masks an address for logs: the local part may be a phone number. */
export const maskedJid = (jid = ''): string => {
  const { local, domain } = parseJid(jid)
  return `${maskNumber(local)}@${domain}`.slice(0, 200)
}

export type Addresses = {
  jidOf(number: string): string
  /** Address that messages to this peer are sent to. */
  ofPeer(peer: ChatPeer): string
  /**
   * E.164 number of an address under our own domains. Null for other domains: any account may be named like a number.
   */
  numberOf(jid: string): string | null
  remoteOf(jid: string, pushname?: string | null): ChatParty
  isUsable(jid: string): boolean
  /** True for a number of this connection. */
  isOurs(number: string): boolean
}

/**
 * @param isOurs true for a number of this connection; in component mode such numbers live under the component's domain
 */
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
    isUsable: (jid) => jid.length > 0 && jid.length <= maxJidLength,
  }
}
