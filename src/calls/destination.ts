import type { VoiceTarget } from '../connectors/voice-port.ts'
import type { Db } from '../db/sql.ts'
import { parse, print } from '../lib/id.ts'
import { decimal } from '../lib/money.ts'
import { describe, e164, mainCountryOf } from '../lib/phone.ts'
import { calledNumber } from '../numbers/ops.ts'
import type { Prices } from '../prices/ops.ts'
import { standingOf } from '../users/ops.ts'
import { routesOf, type TrunkConnection } from './trunks.ts'

/** A refusal in SIP's words, and the word for it that the record of the call keeps. */
export type Refused = { readonly status: number; readonly reason: string; readonly code: string }

export const refuse = (status: number, code: string, reason: string): Refused => ({ status, code, reason })

/** Where a call goes, and what it costs. */
export type Destination = {
  /** E.164, or the printed id of a user. */
  readonly to: string
  readonly country: string
  readonly isTollFree: boolean
  /** To the telephone network. */
  readonly isTrunk: boolean
  /** It stays within the platform or the sandbox: nobody else sees its caller ID. */
  readonly isSimulated: boolean
  /** USD a minute, decimal. */
  readonly rate: string
  readonly targets: readonly VoiceTarget[]
  /** Its number says that calls to it are recorded. */
  readonly isRecorded: boolean
}

export type DestinationGround = {
  readonly db: Db
  readonly prices: Prices
  readonly sandboxAccounts: { has(account: string): boolean }
  trunks(): readonly TrunkConnection[]
}

/** Asked for on every continent; a browser does not know where its user is, which they would have to. */
const emergency = new Set(['000', '100', '101', '102', '108', '110', '111', '112', '118', '119', '911', '999'])

const inside = (to: string, country: string, targets: readonly VoiceTarget[], isRecorded = false): Destination => ({
  ...{ to, country, targets, isRecorded, isTollFree: false, isTrunk: false, isSimulated: true, rate: '0' },
})

const toPerson = async ({ db }: DestinationGround, account: string, user: string): Promise<Destination | Refused> => {
  const standing = await standingOf(db, user)
  return standing?.account === account && standing.may
    ? inside(print('USR', user), '', [{ people: [{ account, user }] }])
    : refuse(404, 'unknown_user', `The account has no active user ${print('USR', user)}`)
}

/**
 * Looks up what was dialled: a user of the account, a number of the account (whose user is called without leaving the
 * platform), or any other number, by trunks.
 */
export const findDestination = async (
  ground: DestinationGround,
  account: string,
  dialled: string,
): Promise<Destination | Refused> => {
  const user = parse('USR', dialled)
  if (user) return await toPerson(ground, account, user)
  if (emergency.has(dialled))
    return refuse(403, 'emergency', 'Emergency numbers cannot be called from here: use a telephone')
  const number = e164(dialled)
  if (!number) return refuse(404, 'not_e164', 'The number must be E.164, such as +447700900123')
  const country = mainCountryOf(number) ?? ''
  const own = await calledNumber(ground.db, number)
  if (own?.account_id === account) {
    const called = own.inbound_user_id
    const standing = called && own.works ? await standingOf(ground.db, called) : null
    const targets = called && standing?.may ? [{ people: [{ account, user: called }] }] : []
    return inside(number, country, targets, own.record_inbound)
  }
  const price = ground.prices.of('call_out', number)
  if (price === null) return refuse(403, 'destination_not_priced', `There is no price for calls to ${number}`)
  const trunks = ground.trunks()
  const routes = routesOf(trunks, number, ground.sandboxAccounts.has(account))
  if (routes.length === 0) return refuse(503, 'no_trunk', `No trunk carries calls to ${number}`)
  return {
    ...{ to: number, country, isTrunk: true, isRecorded: false, rate: decimal(price) },
    isSimulated: routesOf(trunks, number, false).length === 0,
    isTollFree: describe(number)?.getType() === 'TOLL_FREE',
    targets: routes.map((trunk) => ({ trunk, number })),
  }
}
