import type { ChatNumberCheck } from '../../../ports/chat.ts'
import { foundOnMsgapp } from '../../contacts/ops.ts'
import type { Operation } from '../operations/operation.ts'
import { storeAnswers } from '../operations/requests.ts'
import * as store from './store.ts'

export const checkOperation = 'check'

export type CheckRequest = { readonly connection: string; readonly number: string; readonly extra: boolean }

/** Checks a number with the network, and caches the result. */
export const makeCheckOperation = (): Operation<CheckRequest, ChatNumberCheck | null> => ({
  run: async (network, { payload: { channel, number, extra } }) => {
    const [found = null] = (await network.check?.(channel, [number], extra)) ?? []
    return found
  },
  onComplete: async (tx, done) => {
    for (const { job, result } of done) {
      const { account, payload } = job
      if (result && account !== null) {
        await store.cacheResults(tx, { account, ...payload }, [result])
        if (result.there === 'yes') await foundOnMsgapp(tx, account, [result.number])
      }
      await storeAnswers(tx, [{ id: job.id, answer: { outcome: 'done', value: result } }])
    }
  },
})
