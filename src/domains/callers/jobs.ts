import type { Schedule } from '../../platform/jobs/schedule.ts'
import { deleteOldCodes } from './store.ts'

/** Deletes codes and counters that no longer have any effect. */
export const deleteCallerIdCodes: Schedule = { name: 'forget-caller-id-codes', every: 3_600, run: deleteOldCodes }
