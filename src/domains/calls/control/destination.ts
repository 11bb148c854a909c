import { e164, mainCountryOf, numberDetails } from '@trunkline/phone/phone.ts'
import type { Sql } from '../../../platform/db/sql.ts'
import { parse, print } from '../../../platform/lib/id.ts'
import { decimal } from '../../../platform/lib/money.ts'
import type { VoiceTarget } from '../../../ports/voice.ts'
import { calledNumber } from '../../numbers/ops.ts'
import type { Prices } from '../../prices/ops.ts'
import { callPermissionOf } from '../../users/ops.ts'
import type { ProgramSource } from '../programs/program-source.ts'
import { type CallRefusal, callRefusals } from '../refusals.ts'
import { routesOf, type TrunkConnection } from './trunk-selection.ts'

/** Destination of a call, with its price. */
export type Destination = {
  /** E.164, or the printed id of a user. */
  readonly to: string
  readonly country: string
  readonly isTollFree: boolean
  /** To the telephone network. */
  readonly isTrunk: boolean
  /** The call stays within the platform or the sandbox, so its caller ID is not visible outside. */
  readonly isSimulated: boolean
  /** USD per minute, decimal. */
  readonly rate: string
  readonly targets: readonly VoiceTarget[]
  /** The called number is set to record its calls. A number that runs a program records them at its own side. */
  readonly isRecorded: boolean
  /** The program that the called number of the account runs; null for every other destination. */
  readonly program: ProgramSource | null
}

export type DestinationDeps = {
  readonly db: Sql
  readonly prices: Prices
  readonly sandboxAccounts: { has(account: string): boolean }
  trunks(): readonly TrunkConnection[]
}

/** Emergency numbers worldwide. Never dialled: a browser call carries no location. */
const emergency = new Set(['000', '100', '101', '102', '108', '110', '111', '112', '118', '119', '911', '999'])

const internalDestination = (
  to: string,
  country: string,
  targets: readonly VoiceTarget[],
  { isRecorded, program }: Pick<Destination, 'isRecorded' | 'program'> = { isRecorded: false, program: null },
): Destination => ({
  ...{ to, country, targets, isRecorded, program, isTollFree: false, isTrunk: false, isSimulated: true, rate: '0' },
})

const toUser = async ({ db }: DestinationDeps, account: string, user: string): Promise<Destination | CallRefusal> => {
  const permission = await callPermissionOf(db, user)
  return permission?.account === account && permission.may
    ? internalDestination(print('USR', user), '', permission.rings ? [{ people: [{ account, user }] }] : [])
    : callRefusals.unknownUser(print('USR', user))
}

/**
 * Resolves dialled digits: a user of the account, a number of the account, or any other number, by trunks. A call to a
 * number of the account goes to its user or its program within the platform.
 */
export const findDestination = async (
  deps: DestinationDeps,
  account: string,
  dialled: string,
): Promise<Destination | CallRefusal> => {
  const user = parse('USR', dialled)
  if (user) return await toUser(deps, account, user)
  if (emergency.has(dialled)) return callRefusals.emergency()
  const number = e164(dialled)
  if (!number) return callRefusals.notE164()
  const country = mainCountryOf(number) ?? ''
  const own = await calledNumber(deps.db, number)
  if (own?.account_id === account) {
    const called = own.inbound_user_id
    const permission = called && own.works ? await callPermissionOf(deps.db, called) : null
    const people = called && permission?.rings ? [{ people: [{ account, user: called }] }] : []
    const program = own.works ? own.voice : null
    const targets = program ? [{ own: number }] : people
    return internalDestination(number, country, targets, { isRecorded: own.record_inbound, program })
  }
  const price = deps.prices.of('call_out', number)
  if (price === null) return callRefusals.destinationNotPriced(number)
  const trunks = deps.trunks()
  const routes = routesOf(trunks, number, deps.sandboxAccounts.has(account))
  if (routes.length === 0) return callRefusals.noTrunk(number)
  return {
    ...{ to: number, country, isTrunk: true, isRecorded: false, program: null, rate: decimal(price) },
    isSimulated: routesOf(trunks, number, false).length === 0,
    isTollFree: numberDetails(number)?.getType() === 'TOLL_FREE',
    targets: routes.map((trunk) => ({ trunk, number })),
  }
}
