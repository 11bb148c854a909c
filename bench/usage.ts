import { readFileSync } from 'node:fs'

// Resource usage of processes from /proc of Linux; zero on other systems.

const proc = (path: string): string => {
  try {
    return readFileSync(`/proc/${path}`, 'utf8')
  } catch {
    return ''
  }
}

/** Returns a figure summed over a process and its children. */
const summed = (pid: number, figure: (id: string) => number): number => {
  const children = proc(`${pid}/task/${pid}/children`).split(' ').filter(Boolean)
  return [String(pid), ...children].reduce((sum, id) => sum + figure(id), 0)
}

/** Returns the CPU seconds used by a process and its children (100 ticks a second). */
export const cpuSeconds = (pid: number): number =>
  summed(pid, (id) => {
    const fields = proc(`${id}/stat`).split(') ')[1]?.split(' ') ?? []
    return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / 100
  })

/** Returns the memory of a process and its children in megabytes, shared pages in proportion (PSS). */
export const memory = (pid: number): number =>
  Math.round(summed(pid, (id) => Number(/^Pss:\s+(\d+)/m.exec(proc(`${id}/smaps_rollup`))?.[1] ?? 0)) / 1024)
