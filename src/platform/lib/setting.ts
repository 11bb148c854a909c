// Parsers of settings. Each returns the value of a text, or throws with the expected form.

import { isIP } from 'node:net'
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
  (value: string): T[] =>
    value
      .split(',')
      .map((part) => part.trim())
      .filter(Boolean)
      .map(item)

export const matching = (form: RegExp, wants: string) => (value: string) => {
  if (!form.test(value)) throw new SettingError(wants)
  return value
}

export const secret = matching(/^.{20,}$/s, 'wants at least 20 characters')
export const word = matching(/^[a-z][a-z0-9]{1,30}$/, 'wants a lower-case word of letters and digits')

export const address = (value: string): string => {
  const url = URL.canParse(value) ? new URL(value) : null
  if (!url || !/^https?:$/.test(url.protocol))
    throw new SettingError('wants an address such as https://sms.example.com')
  return url.href.replace(/\/$/, '')
}

/** A contact of the operator: RFC 8292, 2.1. */
export const contact = (value: string): string => {
  if (!/^mailto:[^@\s]+@[^@\s]+$/.test(value) && !/^https:\/\/./.test(value))
    throw new SettingError('wants mailto:ops@example.com, or an https address')
  return value
}

export const origin = (value: string): string => {
  const found = URL.canParse(value) ? new URL(value).origin : value
  if (found !== '*' && !/^https?:/.test(found))
    throw new SettingError('wants origins such as https://app.example.com, or *')
  return found
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
const secretNames = /KEY$|SECRET|DATABASE_URL|MEDIA_STORE/

/** Returns the value of a setting in an environment. @throws SettingError with the expected form */
export const readOne = (
  environment: NodeJS.ProcessEnv,
  { name, default: fallback, read }: Setting<unknown>,
): unknown => {
  const given = environment[name]?.trim()
  try {
    return read(given === undefined || given === '' ? fallback : given)
  } catch (error) {
    const shown = secretNames.test(name) ? '' : `, not "${given}"`
    return reject(name, error instanceof SettingError ? error.message + shown : String(error))
  }
}
