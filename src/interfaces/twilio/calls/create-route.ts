import { e164 } from '@trunkline/phone/phone.ts'
import type { Static } from 'typebox'
import {
  type ApplicationRow,
  type CallbackEvent,
  callbackEvents,
  findApplication,
} from '../../../domains/applications/ops.ts'
import {
  type CallOrder,
  callbacksOfApplication,
  ordinaryCallSeconds,
  type ProgramSource,
} from '../../../domains/calls/compat/ops.ts'
import { queueOrder, storeRefusedCall } from '../../../domains/calls/orders/ops.ts'
import { userByIdentity } from '../../../domains/users/ops.ts'
import type { Sql } from '../../../platform/db/sql.ts'
import { type Endpoint, routeWithPreparation } from '../../../platform/http/endpoint.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { print } from '../../../platform/lib/id.ts'
import { parseSid } from '../../../platform/lib/sid.ts'
import type { Services } from '../../../services.ts'
import { checkAddresses } from '../address-check.ts'
import { methodOf } from '../compat-schemas.ts'
import { minRingTimeout, ordinaryRingTimeout } from '../limits.ts'
import { refusals } from '../refusals.ts'
import { presentCall } from './call-fields.ts'
import { programOf } from './call-program.ts'
import * as c from './contract.ts'

type NewCall = Static<typeof c.createCall.body>

const addressFields = ['Url', 'FallbackUrl', 'StatusCallback'] as const

/** Reads both sides, in the order in which Twilio checks them. @throws Problem 400 */
const readSides = ({ To = '', From = '' }: NewCall) => {
  const [to, from] = [To.trim(), From.trim()]
  if (to === '') throw refusals.noCallee()
  if (from === '') throw refusals.noCaller()
  const identity = /^client:(.+)$/i.exec(to)?.[1]
  const number = identity === undefined ? (e164(to) ?? refuse(refusals.badRecipient(to))) : null
  return { identity, number, from: e164(from) ?? refuse(refusals.badSender(from)) }
}

/** Returns the events of a call's statuses. A value may have several, separated by spaces. @throws Problem 400 */
const eventsOf = ({ StatusCallbackEvent: values = [] }: NewCall): readonly CallbackEvent[] => {
  const names = values.flatMap((value) => value.split(/[\s,]+/)).filter((name) => name !== '')
  const events = names.map(
    (name) => callbackEvents.find((event) => event === name) ?? refuse(refusals.badCallbackEvent(name)),
  )
  return events.length === 0 ? ['completed'] : [...new Set(events)]
}

const keysForm = /^[0-9*#wW]{1,64}$/

/** Returns who gets the statuses: the address of the request, else that of its application. */
const callbacksOf = (body: NewCall, application: ApplicationRow | null): CallOrder['callbacks'] => {
  const { StatusCallback: url = '', StatusCallbackMethod: method = 'POST' } = body
  if (url === '') return application && callbacksOfApplication(application)
  return { url, method: methodOf(method), events: eventsOf(body), shape: 'twilio', application: null }
}

const orderOf = (body: NewCall, program: ProgramSource, application: ApplicationRow | null): CallOrder => {
  const { SendDigits: digits = '' } = body
  if (digits !== '' && !keysForm.test(digits)) throw refusals.badSendDigits(digits)
  return {
    program,
    callbacks: callbacksOf(body, application),
    placing: {
      ring_seconds: Math.max(minRingTimeout, body.Timeout ?? ordinaryRingTimeout),
      most_seconds: body.TimeLimit ?? ordinaryCallSeconds,
      send_digits: digits === '' ? null : digits,
      record: body.Record ?? false,
      headers: {},
    },
    tags: {},
  }
}

/** Queues a call that a program runs. */
export const createCallRoute = (parts: Services): Endpoint => {
  const { outbound } = parts

  /** @throws Problem 400 */
  const applicationOf = async (sql: Sql, account: string, sid: string): Promise<ApplicationRow> => {
    const id = parseSid('AP', sid)
    return (id && (await findApplication(sql, account, id))) || refuse(refusals.badApplication(sid))
  }

  return {
    ...routeWithPreparation(
      c.createCall,
      async ({ body, isSandbox }) => {
        readSides(body)
        await checkAddresses(outbound.of(isSandbox), body, addressFields, refusals.badCallUrl)
        return await programOf(body)
      },
      async ({ account, body, tx, prepared, audit }) => {
        const { identity, number, from } = readSides(body)
        const { ApplicationSid: sid = '' } = body
        const application = sid === '' ? null : await applicationOf(tx, account.id, sid)
        const program: ProgramSource = application
          ? { kind: 'application', application: application.id, shape: application.format }
          : (prepared ?? refuse(refusals.noProgram()))
        const user = identity === undefined ? null : await userByIdentity(tx, account.id, identity)
        const to = number ?? (user === null ? refuse(refusals.badRecipient(`client:${identity}`)) : print('USR', user))
        const { row } = await queueOrder(parts, tx, account, {
          to,
          from,
          order: orderOf(body, program, application),
        })
        await audit(tx, { target: print('CDR', row.id), after: { from, to, program: program.kind } })
        return presentCall(row)
      },
    ),
    refused: (problem) => storeRefusedCall(parts, problem),
  }
}
