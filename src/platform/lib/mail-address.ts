import { domainToASCII } from 'node:url'

/** Octets of a local part and of a domain: RFC 5321, 4.5.3.1. */
const maxLocalBytes = 64
const maxDomainLength = 253

/** A dot-atom (RFC 5322, 3.2.3) with the letters of RFC 6531. Quoted local parts are refused. */
const localPart = /^[\p{L}\p{N}\p{M}!#$%&'*+/=?^_`{|}~-]+(?:\.[\p{L}\p{N}\p{M}!#$%&'*+/=?^_`{|}~-]+)*$/u
const domainForm = /^[\p{L}\p{N}\p{M}.-]+$/u
const asciiDomain = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+(?=[a-z])[a-z0-9-]{1,62}[a-z0-9]$/

/**
 * Returns the address to send mail to, with its domain in ASCII (IDNA); null if the text is not an address of one
 * mailbox at a domain.
 */
export const mailAddress = (text: string): string | null => {
  const [local = '', domain = '', ...more] = text.trim().normalize('NFC').split('@')
  if (more.length > 0 || !localPart.test(local) || Buffer.byteLength(local) > maxLocalBytes) return null
  if (!domainForm.test(domain)) return null
  const ascii = domainToASCII(domain)
  return ascii.length <= maxDomainLength && asciiDomain.test(ascii) ? `${local}@${ascii}` : null
}

/** Returns the form of an address by which mails to one mailbox are counted: case and the part after + do not count. */
export const mailboxKey = (address: string): string => {
  const [local = '', domain = ''] = address.normalize('NFKC').toLowerCase().split('@')
  return `${local.split('+')[0] || local}@${domain}`
}
