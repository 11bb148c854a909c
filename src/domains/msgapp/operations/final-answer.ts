import type { ServiceResult as Told } from '../../../ports/supplier.ts'
import { snoozeForNetwork, type TimedJob } from './snooze.ts'

/** A network's final answer. */
export type FinalAnswer<V> = Exclude<Told<V>, { outcome: 'later' }>

/**
 * Returns the network's final answer.
 * @throws Later if the network wants a retry
 */
export const finalAnswer = <V>(job: TimedJob, answer: Told<V>): FinalAnswer<V> =>
  answer.outcome === 'later' ? snoozeForNetwork(job, answer) : answer
