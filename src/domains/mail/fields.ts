import { isIP } from 'node:net'
import { maxNameLength } from './limits.ts'

/** Characters that hide, reorder or end text: controls, zero-width and bidirectional ones, line separators. */
const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}]/gu
/** Full stops, also those that browsers read as one in names of hosts (UTS 46), before a further character. */
const innerStop = /[.\u3002\uff0e\uff61]+(?=\S)/gu
/** Digits enough for a telephone number, which mail programs make a link of. */
const telephone = /\+?\d(?:[\s()./-]*\d){6,}/g

/**
 * Returns a name that a tenant or person chose, so that mail programs find no address in it: a mail of this
 * installation must not carry links of others.
 */
export const plainName = (name: string): string => {
  const plain = name
    .toWellFormed()
    .normalize('NFKC')
    .replaceAll(invisible, ' ')
    .replaceAll(/[/\\@:<>]/g, ' ')
    .replaceAll(telephone, '…')
    .replaceAll(innerStop, '. ')
    .replaceAll(/\s+/g, ' ')
    .trim()
  const characters = [...plain]
  return characters.length > maxNameLength ? `${characters.slice(0, maxNameLength).join('').trimEnd()}…` : plain
}

/** Returns an IP address; anything else as a name. */
export const plainAddress = (address: string): string => (isIP(address) === 0 ? plainName(address) : address)

let format: Intl.DateTimeFormat | null = null

/** Returns a time in UTC, such as `27 November 2026 at 21:50 UTC`. */
export const plainTime = (time: string): string => {
  // Made with the first mail: it loads data of locales.
  format ??= new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' })
  return `${format.format(new Date(time))} UTC`
}

/** Names of browsers, the more special ones first: most of them call themselves Chrome and Safari, too. */
const browsers = {
  'Edg/': 'Edge',
  'OPR/': 'Opera',
  Firefox: 'Firefox',
  Chrome: 'Chrome',
  Safari: 'Safari',
  curl: 'curl',
}
const systems = {
  Android: 'Android',
  iPhone: 'iOS',
  iPad: 'iPadOS',
  Windows: 'Windows',
  'Mac OS': 'macOS',
  Linux: 'Linux',
}

const firstIn = (names: Readonly<Record<string, string>>, text: string): string | undefined =>
  Object.entries(names).find(([part]) => text.includes(part))?.[1]

/** Returns the browser and system of a User-Agent, only by names of ours: anyone may send any text. */
export const browserName = (userAgent: string): string => {
  const [browser, system] = [firstIn(browsers, userAgent), firstIn(systems, userAgent)]
  return system === undefined ? (browser ?? 'unknown') : `${browser ?? 'unknown browser'} on ${system}`
}
