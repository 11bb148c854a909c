import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { makeHashQueue, type Turn } from './hash-queue.ts'
import { hashLimits, minGuessesLog10, minPasswordLength } from './limits.ts'
import { loadEstimator } from './password-estimator.ts'
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

/** Words of a person that a password must not consist of. */
export type PasswordOwner = { readonly email: string; readonly name: string }

const wordsOf = ({ email, name }: PasswordOwner): string[] => {
  const [local = ''] = email.split('@', 1)
  const parts = [email, local, local.replace(/[._+-]/g, ''), name, name.replace(/\s/g, '')]
  const words = [...parts, ...email.split(/[@._+-]/), ...name.split(/\s+/), 'trunkline', 'console']
  return words.map((word) => word.normalize('NFKC')).filter((word) => word.length >= 3)
}

/** Returns why a password is too weak; null if it is strong enough. */
const passwordWeakness = async (password: string, owner: PasswordOwner): Promise<string | null> => {
  const text = password.normalize('NFKC')
  if ([...text].length < minPasswordLength) return `must have at least ${minPasswordLength} characters`
  const estimator = await loadEstimator()
  if (estimator.check(text, wordsOf(owner)).guessesLog10 >= minGuessesLog10) return null
  return 'is easy to guess: it consists of common words, dates, keys in a row, the name, the e-mail address or the name of the product'
}

/** Checks a new password. @throws Problem 400 `weak_password` */
export const assertStrong = async (password: string, owner: PasswordOwner): Promise<void> => {
  const why = await passwordWeakness(password, owner)
  if (why !== null) throw refusals.weakPassword(why)
}
