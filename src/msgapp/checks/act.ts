import type { ChatChecked } from '../../connectors/chat-port.ts'
import { foundOnMsgapp } from '../../contacts/ops.ts'
import type { Act } from '../acts.ts'
import { answer } from '../asking.ts'
import * as store from './store.ts'

export const checkAct = 'check'

export type CheckAsked = { readonly connection: string; readonly number: string; readonly extra: boolean }

/** Asks the network whether a number is there; what it said is kept for whoever asks next. */
export const makeCheckAct = (): Act<CheckAsked, ChatChecked | null> => ({
  run: async (network, { payload: { channel, number, extra } }) => {
    const [found = null] = (await network.check?.(channel, [number], extra)) ?? []
    return found
  },
  settle: async (tx, done) => {
    for (const { job, result } of done) {
      const { account, payload } = job
      if (result && account !== null) {
        await store.keepFound(tx, { account, ...payload }, [result])
        if (result.there === 'yes') await foundOnMsgapp(tx, account, [result.number])
      }
      await answer(tx, [{ id: job.id, answer: { outcome: 'done', value: result } }])
    }
  },
})
