import { setTimeout as wait } from 'node:timers/promises'
import type { Logger } from 'pino'
import { type Db, isUnavailable } from '../../../platform/db/sql.ts'
import { alignedDelay, inTurn } from '../../../platform/lib/background-turns.ts'
import { historyStep } from '../limits.ts'
import * as store from './store.ts'
import { takeInHistory } from './take-in-history.ts'

export type HistoryService = { stop(): Promise<void> }

const least = '00000000-0000-0000-0000-000000000000'

/** Takes in the history of all accounts in turn, with a pause after each step. */
export const startHistory = ({ db, log }: { readonly db: Db; readonly log: Pick<Logger, 'warn'> }): HistoryService => {
  const stopping = new AbortController()
  const { signal } = stopping
  let last = least

  /** @returns false if there was nothing to do */
  const step = async (): Promise<boolean> => {
    const account = (await store.nextAccount(db, last)) ?? (last === least ? null : await store.nextAccount(db, least))
    last = account ?? least
    return account !== null && (await takeInHistory(db, account))
  }

  const run = async () => {
    let isBusy = false
    while (!signal.aborted) {
      isBusy = await (isBusy ? step() : inTurn(step)).catch((error: unknown) => {
        if (!isUnavailable(error)) log.warn({ err: error, account: last }, 'inbox: history failed')
        return false
      })
      await wait(isBusy ? historyStep.pauseMs : alignedDelay(historyStep.idleMs), undefined, {
        signal,
        ref: false,
      }).catch(() => {})
    }
  }
  const running = run()

  return {
    stop: async () => {
      stopping.abort()
      await running
    },
  }
}
