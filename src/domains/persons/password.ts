import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { makeHashQueue, type Turn } from './hash-queue.ts'
import { hashLimits, minDifferentCharacters, minOwnCharacters, minPasswordLength } from './limits.ts'
import { refusals } from './refusals.ts'

// Passwords are stored as argon2id (RFC 9106) in the PHC string format, with OWASP's minimum: 19 MiB, 2 passes, 1 lane.

const parameters = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 }

const derive = promisify(argon2)

const queue = makeHashQueue({ ...hashLimits, full: refusals.signInBusy })

const base64 = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '')

type StoredHash = {
  readonly memory: number
  readonly passes: number
  readonly parallelism: number
  readonly salt: Buffer
  readonly tag: Buffer
}

const phcForm = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/

const parsed = (phc: string): StoredHash | null => {
  const [, memory, passes, parallelism, salt = '', tag = ''] = phcForm.exec(phc) ?? []
  if (memory === undefined) return null
  return {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    salt: Buffer.from(salt, 'base64'),
    tag: Buffer.from(tag, 'base64'),
  }
}

/** Passwords that look alike to a person are equal: NFKC (NIST SP 800-63B, 5.1.1.2). */
const messageOf = (password: string): Buffer => Buffer.from(password.normalize('NFKC'))

/** Returns the PHC string of a password. */
export const hashPassword = (password: string, turn: Turn): Promise<string> =>
  queue.run(turn, async () => {
    const salt = randomBytes(16)
    const { memory, passes, parallelism } = parameters
    const tag = await derive('argon2id', { ...parameters, message: messageOf(password), nonce: salt })
    return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${base64(salt)}$${base64(tag)}`
  })

/** Stored hash of no password. Verifying it takes as long as that of a person. */
const dummy = `$argon2id$v=19$m=${parameters.memory},t=${parameters.passes},p=1$${base64(randomBytes(16))}$${base64(randomBytes(32))}`

/** Whether a password is the one of a hash. Takes the same time for a person without one. */
export const verifyPassword = (password: string, phc: string | null, turn: Turn): Promise<boolean> =>
  queue.run(turn, async () => {
    const stored = parsed(phc ?? dummy)
    if (!stored) return false
    const { memory, passes, parallelism, salt, tag } = stored
    const message = messageOf(password)
    const own = await derive('argon2id', { message, nonce: salt, memory, passes, parallelism, tagLength: tag.length })
    return timingSafeEqual(own, tag) && phc !== null
  })

/** Whether a hash was made with smaller parameters than today's. */
export const isOutdated = (phc: string): boolean => {
  const stored = parsed(phc)
  return stored === null || stored.memory < parameters.memory || stored.passes < parameters.passes
}

/** Words and rows of keys of which the commonest passwords consist. */
const commonParts = [
  'password',
  'passwort',
  'passw',
  'motdepasse',
  'contrasena',
  'senha',
  'letmein',
  'welcome',
  'admin',
  'administrator',
  'root',
  'login',
  'master',
  'secret',
  'changeme',
  'default',
  'guest',
  'user',
  'test',
  'hello',
  'iloveyou',
  'love',
  'baby',
  'princess',
  'sunshine',
  'football',
  'baseball',
  'basketball',
  'superman',
  'batman',
  'pokemon',
  'dragon',
  'monkey',
  'shadow',
  'michael',
  'jordan',
  'charlie',
  'jessica',
  'ashley',
  '1q2w3e4r5t6y',
  '1qaz2wsx3edc',
  '1q2w3e4r',
  '1qaz2wsx',
  'zaq12wsx',
  'q1w2e3r4',
  'qwertyuiop',
  'qwertzuiop',
  'qwerty',
  'qwertz',
  'azerty',
  'asdfghjkl',
  'asdfgh',
  'asdf',
  'zxcvbnm',
  'zxcv',
  'qazwsx',
  'qaz',
  'wsx',
  'edc',
  'abcdefghijklm',
  'abcdef',
  'abc',
  'trustno',
  'whatever',
  'freedom',
  'starwars',
  'computer',
  'internet',
  'summer',
  'winter',
  'spring',
  'autumn',
] as const

const replacements = new Map([
  ['0', 'o'],
  ['1', 'l'],
  ['3', 'e'],
  ['4', 'a'],
  ['5', 's'],
  ['7', 't'],
  ['@', 'a'],
  ['$', 's'],
  ['!', 'i'],
])

const unmasked = (text: string): string => text.replace(/[013457@$!]/g, (sign) => replacements.get(sign) ?? sign)

const countedDigits =
  /(?:0?1234?5?6?7?8?9?0?|0123|2345|3456|4567|5678|6789|0?9?8?7?6?5?4?321|9876|8765|7654|6543|5432)/g

/** Returns how much is left of a text without these parts: a letter counts 1, any other character a half. */
const ownCharacters = (text: string, parts: readonly string[]): number => {
  let rest = text
  for (const part of parts.toSorted((one, other) => other.length - one.length)) rest = rest.replaceAll(part, ' ')
  const left = rest
    .replace(countedDigits, '')
    .replace(/(.+?)\1+/gu, '$1')
    .replace(/\s/g, '')
  const letters = left.replace(/[^\p{L}]/gu, '').length
  return letters + (left.length - letters) / 2
}

/** Words of a person that a password must not consist of. */
export type PasswordOwner = { readonly email: string; readonly name: string }

/**
 * Returns why a password is too weak; null if it is strong enough. Instead of a list of the commonest passwords, their
 * parts are removed: the thousand commonest that are long enough have nothing left.
 */
export const passwordWeakness = (password: string, { email, name }: PasswordOwner): string | null => {
  const text = password.normalize('NFKC').toLowerCase()
  if ([...text].length < minPasswordLength) return `must have at least ${minPasswordLength} characters`
  if (new Set(text).size < minDifferentCharacters) return 'must not repeat the same few characters'
  const own = [email, ...email.split(/[@._+-]/), ...name.split(/\s+/), 'trunkline', 'console']
    .map((word) => word.normalize('NFKC').toLowerCase())
    .filter((word) => word.length >= 3)
  const parts = [...commonParts, ...own]
  if (ownCharacters(text, parts) >= minOwnCharacters && ownCharacters(unmasked(text), parts) >= minOwnCharacters)
    return null
  return 'must not consist of common words, keys in a row, the name, the e-mail address or the name of the product'
}

/** Checks a new password. @throws Problem 400 `weak_password` */
export const assertStrong = (password: string, owner: PasswordOwner): void => {
  const why = passwordWeakness(password, owner)
  if (why !== null) throw refusals.weakPassword(why)
}
