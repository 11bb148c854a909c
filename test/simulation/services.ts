import { randomBytes } from 'node:crypto'
import pino from 'pino'
import { makeSeal } from '../../src/platform/lib/secret.ts'
import type { SimulatedDatabase } from './database.ts'
import { load } from './modules.ts'
import type { Process } from './schedule.ts'
import type { Due } from './simulation.ts'

// What the scenarios share of the product's services.

export const seal = makeSeal(randomBytes(32))
export const log = pino({ level: 'silent' })

/** Loads one set of modules for each process. */
export const loadEach = async <Modules>(
  slots: readonly number[],
  read: (from: <Module>(path: string) => Promise<Module>) => Promise<Modules>,
): Promise<(process: Process) => Modules> => {
  const all: Modules[] = []
  for (const slot of slots) all.push(await read((path) => load(slot, path)))
  return ({ name, slot }) => {
    const found = all[slot]
    if (!found) throw new Error(`no modules were loaded for ${name}`)
    return found
  }
}

/** The time at which a job is next due, or its lease ends; null if no job is left. */
export const nextJob = async (database: SimulatedDatabase): Promise<Due | null> => {
  const [job] = await database.ask<{ at: string; leased: boolean }>(`
    select extract(epoch from coalesce(leased_until, run_at)) * 1000 + 1 as at, leased_until is not null as leased
    from jobs order by 1 limit 1`)
  return job ? { at: Number(job.at), isLeased: job.leased } : null
}
