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
      if (result) await store.keepFound(tx, job.payload.connection, [result], job.payload.extra)
      if (result?.there === 'yes' && job.account !== null) await foundOnMsgapp(tx, job.account, [result.number])
      await answer(tx, [{ id: job.id, answer: { outcome: 'done', value: result } }])
    }
  },
})
