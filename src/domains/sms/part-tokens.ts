import { timingSafeEqual } from 'node:crypto'
import type { Seal } from '../../platform/lib/secret.ts'
import type { PartCallback } from '../../ports/sms.ts'

/** The part that a token names. */
export type TokenPart = { readonly account: string; readonly message: string; readonly part: number }

/** Tokens of parts, which carriers without a lasting connection send back with receipts. */
type PartTokens = {
  /** Returns a token: 43 characters for account and message, the part, and a MAC that binds them to the connection. */
  make(connection: string, part: TokenPart): string
  /** Returns the part of a token of that connection; null if we did not make it. Compares in constant time. */
  read(connection: string, token: string): TokenPart | null
}

/** Characters of the MAC: 132 bits of HMAC-SHA256. */
const macLength = 22

const form = /^([A-Za-z0-9_-]{43})\.([1-9][0-9]{0,2})\.([A-Za-z0-9_-]{22})$/

const bytesOf = (uuid: string): Buffer => Buffer.from(uuid.replaceAll('-', ''), 'hex')

const uuidOf = (bytes: Buffer): string =>
  bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')

export const makePartTokens = (seal: Seal): PartTokens => {
  const macOf = (by: Seal, connection: string, content: string) =>
    by.sign(`sms part ${connection} ${content}`).slice(0, macLength)
  const isMac = (by: Seal, connection: string, content: string, mac: string): boolean => {
    const [actual, expected] = [Buffer.from(mac), Buffer.from(macOf(by, connection, content))]
    return actual.length === expected.length && timingSafeEqual(actual, expected)
  }
  return {
    make: (connection, { account, message, part }) => {
      const content = `${Buffer.concat([bytesOf(account), bytesOf(message)]).toString('base64url')}.${part}`
      return `${content}.${macOf(seal, connection, content)}`
    },
    read: (connection, token) => {
      const [, ids = '', part = '', mac = ''] = form.exec(token) ?? []
      // Receipts come for days: those of messages under a former master key, too.
      if (![seal, ...seal.former].some((one) => isMac(one, connection, `${ids}.${part}`, mac))) return null
      const bytes = Buffer.from(ids, 'base64url')
      return { account: uuidOf(bytes.subarray(0, 16)), message: uuidOf(bytes.subarray(16)), part: Number(part) }
    },
  }
}

/** Path of the callback address of a connection. */
const callbackPath = (connection: string): string => `/callbacks/sms/CNX${connection}`

/** Makes the function that gives a part its callback. */
export const makePartCallbacks = (
  seal: Seal,
  publicUrl: () => string,
): ((connection: string, part: TokenPart) => PartCallback) => {
  const tokens = makePartTokens(seal)
  return (connection, part) => ({
    url: `${publicUrl()}${callbackPath(connection)}`,
    token: tokens.make(connection, part),
  })
}
