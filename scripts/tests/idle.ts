import { cpus } from 'node:os'

type Times = { readonly idle: number; readonly total: number }

const readTimes = (): Times => {
  let idle = 0
  let total = 0
  for (const { times } of cpus()) {
    idle += times.idle
    total += times.user + times.nice + times.sys + times.irq + times.idle
  }
  return { idle, total }
}

/** Returns a function that returns the idle share of all processors since its last call, from 0 to 1. */
export const makeIdleMeter = (read: () => Times = readTimes): (() => number) => {
  let last = read()
  return () => {
    const now = read()
    const total = now.total - last.total
    const share = total === 0 ? 0 : (now.idle - last.idle) / total
    last = now
    return share
  }
}
