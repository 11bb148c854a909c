import type { Db } from '../db/sql.ts'
import * as store from './store.ts'

/** Seconds that the platform's clock is ahead of the real one. */
export const readOffset = async (db: Db): Promise<number> => (await store.offset(db)).offset_seconds
