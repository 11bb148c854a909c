import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { browserCookieOf, setBrowserCookie } from '../../platform/http/session-cookie.ts'
import type { Seal } from '../../platform/lib/secret.ts'
import type { Services } from '../../services.ts'
import { knownBrowserDays, maxKnownPersons } from './limits.ts'
import type { PersonRow } from './store.ts'

// A browser in which a person signed in before has a cookie that says so. It opens nothing: it only gives the browser an
// allowance of wrong passwords of its own. Its value is an id and, for each person, `<uuid>.<epoch>.<signature>`, joined
// by `~`. A new password, and everything else that ends the other sessions of a person, raises the epoch.

type KnownPerson = Pick<PersonRow, 'id' | 'browser_epoch'>

/** `entries` have valid signatures, of the present epoch or an earlier one. */
type KnownBrowser = { readonly id: string; readonly entries: readonly string[] }

const entryOf = (seal: Seal, browser: string, { id, browser_epoch }: KnownPerson): string =>
  `${id}.${browser_epoch}.${seal.sign(`known browser ${browser} ${id} ${browser_epoch}`)}`

const isSigned = (seal: Seal, browser: string, entry: string): boolean => {
  const [, id = '', epoch = ''] = /^([0-9a-f-]{36})\.(\d{1,9})\./.exec(entry) ?? []
  const [received, ours] = [entry, entryOf(seal, browser, { id, browser_epoch: Number(epoch) })].map((text) =>
    Buffer.from(text),
  )
  return (
    received !== undefined && ours !== undefined && received.length === ours.length && timingSafeEqual(received, ours)
  )
}

/** Returns the browser of a request; null if it knows no person. */
const readBrowser = (seal: Seal, request: FastifyRequest): KnownBrowser | null => {
  const [id = '', ...entries] = browserCookieOf(request.raw)?.split('~', maxKnownPersons + 1) ?? []
  const signed = entries.filter((entry) => isSigned(seal, id, entry))
  return signed.length > 0 ? { id, entries: signed } : null
}

/** Reports whether a person signed in before in the browser of a request: anybody may have. */
export const isKnownBrowser = ({ seal }: Pick<Services, 'seal'>, request: FastifyRequest): boolean =>
  readBrowser(seal, request) !== null

/** Returns the name of the browser's own allowance for a person; null if the person never signed in there. */
export const allowanceOf = (
  { seal }: Pick<Services, 'seal'>,
  request: FastifyRequest,
  person: KnownPerson,
): string | null => {
  const browser = readBrowser(seal, request)
  return browser?.entries.includes(entryOf(seal, browser.id, person)) ? `browser ${browser.id} ${person.id}` : null
}

/** Marks the browser as one that knows the person. */
export const rememberPerson = (
  { seal }: Pick<Services, 'seal'>,
  request: FastifyRequest,
  reply: FastifyReply,
  person: KnownPerson,
): void => {
  const { id, entries } = readBrowser(seal, request) ?? { id: randomBytes(16).toString('base64url'), entries: [] }
  const others = entries.filter((entry) => !entry.startsWith(`${person.id}.`)).slice(0, maxKnownPersons - 1)
  setBrowserCookie(request, reply, [id, entryOf(seal, id, person), ...others].join('~'), knownBrowserDays * 86_400)
}
