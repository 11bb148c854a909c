import { ok, serveOutside } from '../http/endpoint.ts'
import { notFound } from '../http/problem.ts'
import { phoneNumber } from '../http/validation.ts'
import type { Parts } from '../parts.ts'
import { shownCalls } from './calls.ts'
import * as c from './contract.ts'
import * as store from './store.ts'

/** What handsets of the sandbox do with calls. Only with numbers and calls of the account. */
export const callSandboxRoutes = ({ db, simulator }: Parts) => [
  serveOutside(c.callFromHandset, async ({ account, params, body }) => {
    const to = phoneNumber(body.to)
    if (!(await store.rents(db, account.id, to))) notFound(`${to} is no number of the account`)
    const { seconds, digits } = body
    return ok({ call_id: await simulator.dial(phoneNumber(params.number), to, { seconds, digits }) })
  }),

  serveOutside(c.hangUpFromHandset, async ({ account, params }) => {
    const number = phoneNumber(params.number)
    const { calls } = await simulator.handset(number)
    const own = await shownCalls(db, account.id, calls)
    if (!own.some(({ call_id }) => call_id === params.call_id)) notFound('The handset has no such call')
    await simulator.hangUp(number, params.call_id)
    return ok({})
  }),
]
