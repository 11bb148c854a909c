// Parsers of settings. Each returns the value of a text, or throws with the expected form.

import { isIP } from 'node:net'
import { networkOf } from './address-list.ts'
import { readNetwork } from './outbound-address.ts'
import { type QuotaDefaults, readQuotas } from './quota-definitions.ts'

/** An invalid setting. The message names the setting and the expected form. */
export class SettingError extends Error {}

export type Setting<T> = { name: string; default: string; about: string; read: (text: string) => T }

export const text = (value: string): string => value

export const flag = (value: string): boolean => {
  if (value === 'true' || value === '1') return true
  if (value === 'false' || value === '0') return false
  throw new SettingError('wants true or false')
}

export const integer = (least: number, most: number) => (value: string) => {
  const number = Number(value)
  if (!/^\d+$/.test(value) || number < least || number > most)
    throw new SettingError(`wants a whole number from ${least} to ${most}`)
  return number
}

export const oneOf =
  <const T extends string>(...values: T[]) =>
  (value: string): T => {
    const found = values.find((known) => known === value)
    if (!found) throw new SettingError(`wants one of ${values.join(', ')}`)
    return found
  }

export const list =
  <T>(item: (value: string) => T) =>
  (value: string): T[] => {
    const parts = value
      .split(',')
      .map((part) => part.trim())
      .filter(Boolean)
    if (value !== '' && parts.length === 0) throw new SettingError('wants one value or several, separated by commas')
    return parts.map(item)
  }

export const matching = (form: RegExp, wants: string) => (value: string) => {
  if (!form.test(value)) throw new SettingError(wants)
  return value
}

export const secret = matching(/^.{20,}$/s, 'wants at least 20 characters')
export const word = matching(/^[a-z][a-z0-9]{1,30}$/, 'wants a lower-case word of letters and digits')

/** Returns a URL of HTTP without userinfo, query and fragment; null for any other text. */
const readUrl = (value: string): URL | null => {
  const url = /[?#\s]/.test(value) ? null : URL.parse(value)
  return url && /^https?:$/.test(url.protocol) && url.username + url.password === '' ? url : null
}

export const address = (value: string): string => {
  const url = readUrl(value)
  if (!url) throw new SettingError('wants an address such as https://sms.example.com')
  return url.href.replace(/\/$/, '')
}

/** A contact of the operator: RFC 8292, 2.1. */
export const contact = (value: string): string => {
  if (!/^mailto:[^@\s]+@[^@\s]+$/.test(value) && !/^https:\/\/./.test(value))
    throw new SettingError('wants mailto:ops@example.com, or an https address')
  return value
}

export const origin = (value: string): string => {
  if (value === '*') return value
  const url = readUrl(value)
  // A path or a pattern of hosts would mean more, or less, than it says.
  if (url?.pathname !== '/' || url.hostname.includes('*'))
    throw new SettingError('wants origins such as https://app.example.com, without a path, or * for all')
  return url.origin
}

/** STUN and TURN URIs (RFC 7064, 7065) in the form that browsers accept. */
export const iceServer = matching(
  /^(?:stuns?:[\w.:[\]-]+|turns?:[\w.:[\]-]+(?:\?transport=(?:udp|tcp))?)$/,
  'wants servers such as turn:turn.example.com:3478?transport=udp',
)

export const network = (value: string): string => {
  if (!readNetwork(value)) throw new SettingError('wants networks such as 10.1.0.0/16 or fd12::/48')
  return value
}

/** Trusted proxies: how many pass a request on, or their addresses, networks and names of networks. */
export type TrustedProxies = number | readonly string[]

const maxProxies = 10
const namedNetworks = ['loopback', 'linklocal', 'uniquelocal']
const proxyForms = `wants the addresses, networks or names of networks (${namedNetworks.join(', ')}) of the proxies, such as 10.0.0.5,10.1.0.0/16, or the number of proxies from 1 to ${maxProxies}`

export const proxies = (value: string): TrustedProxies => {
  if (/^true$/i.test(value))
    throw new SettingError(`takes true no longer, because clients could write any address: it ${proxyForms}`)
  if (/^\d+$/.test(value)) {
    const count = Number(value)
    if (count < 1 || count > maxProxies) throw new SettingError(proxyForms)
    return count
  }
  const parts = list((part) => {
    // A network of all addresses would believe every client.
    if (!namedNetworks.includes(part) && !networkOf(part)?.bits) throw new SettingError(proxyForms)
    return part
  })(value)
  if (parts.length === 0) throw new SettingError(proxyForms)
  return parts
}

/** A range of UDP ports; [0, 0] for any free one. */
export const ports = (value: string): readonly [number, number] => {
  const [first = 0, last = first] = value.split('-').map(Number)
  if (!/^\d{1,5}(?:-\d{1,5})?$/.test(value) || last > 65_535 || (last > 0 && last - first < 3))
    throw new SettingError('wants a range of UDP ports such as 30000-31999, or 0 for any free one')
  return [first, last]
}

export const ip = (value: string): string => {
  if (isIP(value) === 0) throw new SettingError('wants an IP address')
  return value
}

/** `127.0.0.1:2223`, IPv6 in brackets. */
export const peer = (value: string): { readonly address: string; readonly port: number } => {
  const [, address = '', port = ''] = /^\[?(.+?)\]?:(\d{1,5})$/.exec(value) ?? []
  if (isIP(address) === 0 || Number(port) < 1 || Number(port) > 65_535)
    throw new SettingError('wants an IP address and a port such as 127.0.0.1:2223')
  return { address, port: Number(port) }
}

export const quotaDefaults = (value: string): QuotaDefaults => {
  const read = value === '' ? { paid: {}, trial: {} } : readQuotas(value)
  if (typeof read === 'string') throw new SettingError(read)
  return read
}

export const store = (value: string): string => {
  if (!value.startsWith('s3:')) return value
  const url = URL.canParse(value) ? new URL(value) : null
  const endpoint = url?.searchParams.get('endpoint')
  const isWhole = url && url.hostname !== '' && url.username !== '' && url.password !== ''
  if (!isWhole || (endpoint && !/^https?:\/\//.test(endpoint)))
    throw new SettingError('wants a folder, or s3://key:secret@bucket/prefix?region=eu-west-1&endpoint=https://…')
  return value
}

export const setting = <T>(name: string, fallback: string, about: string, read: (text: string) => T): Setting<T> => ({
  name,
  default: fallback,
  about,
  read,
})

export const optional =
  <T>(read: (text: string) => T) =>
  (value: string): T | null =>
    value === '' ? null : read(value)

/** @throws SettingError that names the setting */
export const reject = (name: string, problem: string): never => {
  throw new SettingError(`${name} ${problem}`)
}

/** Names of settings whose values contain secrets. */
const secretNames = /KEY$|SECRET|DATABASE_URL|MEDIA_STORE|SMTP_URL/

/** Returns the value of a setting in an environment. @throws SettingError with the expected form */
export const readOne = (
  environment: NodeJS.ProcessEnv,
  { name, default: fallback, read }: Setting<unknown>,
): unknown => {
  const text = environment[name]?.trim()
  try {
    return read(text === undefined || text === '' ? fallback : text)
  } catch (error) {
    const shown = secretNames.test(name) ? '' : `, not "${text}"`
    return reject(name, error instanceof SettingError ? error.message + shown : String(error))
  }
}
