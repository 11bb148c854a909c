import { ok, routeWithoutTransaction } from '../../../platform/http/endpoint.ts'
import { phoneNumber } from '../../../platform/http/validation.ts'
import type { Services } from '../../../services.ts'
import * as c from '../contract.ts'
import { refusals } from '../refusals.ts'
import * as store from '../store.ts'
import { presentCalls } from './call-presenter.ts'

/** Calls of sandbox handsets, limited to numbers and calls of the account. */
export const callSandboxRoutes = ({ db, simulator }: Services) => {
  const demandOwn = async (account: string, number: string, call: string): Promise<void> => {
    const { calls } = await simulator.handset(number)
    const own = await presentCalls(db, account, calls)
    if (!own.some(({ call_id }) => call_id === call)) throw refusals.unknownCall()
  }
  return [
    routeWithoutTransaction(c.callFromHandset, async ({ account, params, body }) => {
      const to = phoneNumber(body.to)
      if (!(await store.holdsNumber(db, account.id, to))) throw refusals.unknownNumber(to)
      const { seconds, digits } = body
      return ok({ call_id: await simulator.dial(phoneNumber(params.number), to, { seconds, digits }) })
    }),

    routeWithoutTransaction(c.hangUpFromHandset, async ({ account, params }) => {
      const number = phoneNumber(params.number)
      await demandOwn(account.id, number, params.call_id)
      await simulator.hangUp(number, params.call_id)
      return ok({})
    }),

    routeWithoutTransaction(c.pressOnHandset, async ({ account, params, body }) => {
      const number = phoneNumber(params.number)
      await demandOwn(account.id, number, params.call_id)
      return ok({ pressed: await simulator.press(number, params.call_id, body.digits) })
    }),
  ]
}
