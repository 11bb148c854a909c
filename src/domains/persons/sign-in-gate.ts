import { networkKeyOf, peerKeyOf } from '../../platform/lib/address-list.ts'
import type { Turn } from './hash-queue.ts'
import { maxPacedNames, type Pace, paces } from './limits.ts'
import { refusals } from './refusals.ts'

// How guessing is bounded, without a way to lock a person out.
//
// A browser that knows the person (known-browser.ts) and a session have allowances of their own: nobody else uses them up.
// A stranger, that is any other visitor, needs an attempt of its address, and one of the e-mail address. An attacker uses
// up the latter. Then an address that rarely tried this e-mail address goes on with a few attempts of its own, so that the
// right password is accepted from a clean address. IPv6 addresses of one /48 share these, as one site has all of them.
//
// Bound for one e-mail address, in each process, on each day after the first:
// - 2,165 wrong passwords (95 in any hour) that all addresses share, and by each known browser;
// - 3 N more from N networks, and at most 5,000 of these. On the first day both are twice as many.
// An attacker with more than 1,600 networks uses up the 5,000 too: then strangers wait, and known browsers do not.

/** A visitor who gives a password. */
export type Visitor = {
  readonly address: string
  /** The e-mail address in the form that is compared, whether a person has it or not. */
  readonly email: string
  /** Name of the own allowance of a known browser or session; null for a stranger. */
  readonly known: string | null
  /** True once the client is gone. */
  isGone(): boolean
}

type Bucket = { readonly tokens: number; readonly at: number }

/**
 * A bucket from which an attempt takes. `guess`: of guesses at a person, which cost a hash or the password. `address`: of
 * everything wrong from there. `request`: of requests that cost neither.
 */
type Purse = { readonly kind: 'guess' | 'address' | 'request'; readonly name: string; readonly pace: Pace }

/** Paces wrong passwords and codes, and new sessions by their owner. */
export type SignInGate = {
  /**
   * Runs one attempt with a password. A right one is not counted. `new`: the password made a new person, and does not count
   * for the address, as many persons may join from one.
   * @throws Problem 429 `sign_in_pace`
   */
  attempt(visitor: Visitor, verify: (turn: Turn) => Promise<boolean | 'new'>): Promise<boolean>
  /**
   * Runs one attempt with a code of six digits, which is open only to those who gave the password or have a session.
   * @param owner person, or name of the own allowance @throws Problem 429 `sign_in_pace`
   */
  attemptCode(owner: string, verify: () => Promise<boolean>): Promise<boolean>
  /** Counts a wrong key or passkey, which no address can guess: the right one is never refused. @throws Problem 429 */
  failed(address: string): void
  /** Returns the turn of a visitor in the queue of password checks. */
  turnOf(visitor: Visitor): Turn
  /**
   * Counts a session that is to be opened: each writes rows, also of a right key.
   * @param owner id of the person or key @throws Problem 429 `sign_in_pace`
   */
  admit(owner: string): void
  /**
   * Counts a request for a mailed link, by address and by e-mail address, whether that has a person or not.
   * @throws Problem 429 `sign_in_pace`
   */
  admitMail(address: string, email: string): void
}

/** Keeps the buckets in this process. @param pacesAddresses false: not by address @param now milliseconds */
export const makeSignInGate = (pacesAddresses: boolean, now: () => number = () => performance.now()): SignInGate => {
  const guesses = new Map<string, Bucket>()
  /** Buckets of addresses and requests. Their names are cheap, and must not push out those of guesses. */
  const others = new Map<string, Bucket>()
  const bucketsOf = ({ kind }: Purse) => (kind === 'guess' ? guesses : others)
  /** Networks together with the e-mail addresses whose right passwords came from there. */
  const homes = new Set<string>()

  const tokensOf = (purse: Purse): number => {
    const { burst, intervalMs } = purse.pace
    const known = bucketsOf(purse).get(purse.name)
    return known ? Math.min(burst, known.tokens + (now() - known.at) / intervalMs) : burst
  }

  /** Milliseconds until a purse has an attempt. */
  const waitOf = (purse: Purse): number => Math.max(0, (1 - tokensOf(purse)) * purse.pace.intervalMs)
  const longest = (purses: readonly Purse[]): number => Math.max(0, ...purses.map(waitOf))

  /** Stores a bucket at the end: the one with the oldest attempt is dropped first. */
  const add = (purse: Purse, change: number) => {
    const tokens = Math.min(purse.pace.burst, tokensOf(purse) + change)
    const buckets = bucketsOf(purse)
    buckets.delete(purse.name)
    buckets.set(purse.name, { tokens, at: now() })
    if (buckets.size > maxPacedNames)
      for (const oldest of buckets.keys().take(maxPacedNames / 10)) buckets.delete(oldest)
  }

  const addressPurse = (address: string): Purse => ({
    kind: 'address',
    name: `address ${peerKeyOf(address)}`,
    pace: paces.wrong,
  })
  const guessPurse = (name: string, pace: Pace): Purse => ({ kind: 'guess', name, pace })
  const requestPurse = (name: string, pace: Pace): Purse => ({ kind: 'request', name, pace })

  /** Ways to pay for an attempt, the usual one first. */
  const waysOf = ({ address, email, known }: Visitor): (readonly Purse[])[] => {
    if (known !== null) return [[guessPurse(`known ${known}`, paces.wrong)]]
    const own = pacesAddresses ? [addressPurse(address)] : []
    const pair = `clean ${networkKeyOf(address)} ${email}`
    return [
      [...own, guessPurse(`email ${email}`, paces.wrong)],
      [...own, guessPurse(pair, paces.clean), guessPurse(`clean ${email}`, paces.cleanInAll)],
    ]
  }

  /** Takes an attempt. A refused one stores nothing: invented names would push out the buckets of others. */
  const pay = (ways: readonly (readonly Purse[])[], refusal: (seconds: number) => Error): readonly Purse[] => {
    const [best = []] = ways.toSorted((one, other) => longest(one) - longest(other))
    const wait = longest(best)
    if (wait > 0) throw refusal(Math.max(1, Math.ceil(wait / 1_000)))
    for (const purse of best) add(purse, -1)
    return best
  }

  /** Pays for an attempt, and gives back what a right or a failed check took. */
  const paid = async (
    ways: readonly (readonly Purse[])[],
    verify: () => Promise<boolean | 'new'>,
  ): Promise<boolean> => {
    const purses = pay(ways, refusals.signInPace)
    let spent: readonly Purse[] = []
    try {
      const outcome = await verify()
      if (outcome === false) spent = purses
      if (outcome === 'new') spent = purses.filter(({ kind }) => kind !== 'address')
      return outcome === true
    } finally {
      for (const purse of purses) if (!spent.includes(purse)) add(purse, 1)
    }
  }

  const homeOf = ({ address, email }: Visitor): string => `${networkKeyOf(address)} ${email}`

  const remember = (home: string) => {
    homes.delete(home)
    homes.add(home)
    if (homes.size > maxPacedNames) for (const oldest of homes.keys().take(1)) homes.delete(oldest)
  }

  const turnOf = (visitor: Visitor): Turn => {
    const { address, email, known, isGone } = visitor
    if (known !== null) return { rank: 0, keys: [known, `known ${email}`], isGone }
    const purse = addressPurse(address)
    const rank = homes.has(homeOf(visitor)) ? 0 : 1 + Math.round(purse.pace.burst - tokensOf(purse))
    return { rank, keys: [`address ${peerKeyOf(address)}`, `email ${email}`], isGone }
  }

  return {
    attempt: async (visitor, verify) => {
      // The turn goes by the failures before this attempt.
      const turn = turnOf(visitor)
      const isRight = await paid(waysOf(visitor), () => verify(turn))
      if (isRight) remember(homeOf(visitor))
      return isRight
    },
    attemptCode: (owner, verify) => paid([[guessPurse(`code ${owner}`, paces.code)]], verify),
    failed: (address) => {
      if (pacesAddresses) pay([[addressPurse(address)]], refusals.signInPace)
    },
    turnOf,
    admit: (owner) => void pay([[requestPurse(`opening ${owner}`, paces.opening)]], refusals.openingPace),
    admitMail: (address, email) => {
      const own = pacesAddresses ? [requestPurse(`mail from ${peerKeyOf(address)}`, paces.mail)] : []
      // Others use up the e-mail address's own: a network that rarely asked for it goes on with a few of its own.
      const pair = `mail clean ${networkKeyOf(address)} ${email}`
      pay(
        [
          [...own, requestPurse(`mail to ${email}`, paces.mail)],
          [...own, requestPurse(pair, paces.clean)],
        ],
        refusals.signInPace,
      )
    },
  }
}
