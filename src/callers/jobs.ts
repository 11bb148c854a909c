import type { Schedule } from '../jobs/schedule.ts'
import { forgetCodes } from './store.ts'

/** Deletes codes and counters that limit nothing any more. */
export const forgetCallerIdCodes: Schedule = { name: 'forget-caller-id-codes', every: 3_600, run: forgetCodes }
