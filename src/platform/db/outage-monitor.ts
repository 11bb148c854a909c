import { unavailabilityOf } from './unavailability.ts'

/**
 * Watches whether the database answers, so that an outage is logged at its begin and its end instead of at every
 * attempt.
 */
export type OutageMonitor = {
  /** Notes an error of a statement or connection. Errors that do not mean an outage are ignored. */
  failed(error: unknown): void
  /**
   * Notes an answer. An outage ends with the first answer that comes a second after the last failure. An outage of
   * writes does not: reads are answered meanwhile.
   */
  answered(): void
  /** Sets the function that proves a write. During an outage of writes it runs every second; its success is the end. */
  proveWritesBy(prove: () => Promise<unknown>): void
  /** Returns true for an error of an outage that was logged, and for an error that it caused. */
  isKnown(error: unknown): boolean
}

type OutageReport = {
  began(error: Error): void
  /** @param seconds duration of the outage @param errors number of statements that failed in it */
  ended(seconds: number, errors: number): void
  /** Statements were given up while others were answered. @param count since the last report */
  late(error: Error, count: number): void
}

const quietMs = 1000

/** Milliseconds between proofs of a write during an outage of writes. */
const proveMs = 1000

/** Milliseconds between reports of late statements. */
const lateReportMs = 60_000

type Outage = { began: number; last: number; errors: number; isOfWrites: boolean }

export const makeOutageMonitor = (report: OutageReport, now: () => number = () => performance.now()): OutageMonitor => {
  const known = new WeakSet<Error>()
  const late = { count: 0, reportedAt: Number.NEGATIVE_INFINITY }
  let current: Outage | null = null
  let prove: (() => Promise<unknown>) | null = null
  let isProving = false

  const isKnown = (error: unknown): boolean =>
    error instanceof Error && (known.has(error) || (error.cause !== undefined && isKnown(error.cause)))

  const noteLate = (error: Error) => {
    late.count++
    if (now() - late.reportedAt < lateReportMs) return
    report.late(error, late.count)
    Object.assign(late, { count: 0, reportedAt: now() })
  }

  const end = (outage: Outage) => {
    current = null
    report.ended(Math.round(outage.last - outage.began) / 1000, outage.errors)
  }

  const proveLater = () => {
    if (isProving || !prove) return
    isProving = true
    const proving = prove
    setTimeout(async () => {
      const isWritable = await proving().then(
        () => true,
        () => false,
      )
      isProving = false
      if (!current?.isOfWrites) return
      if (isWritable) end(current)
      else proveLater()
    }, proveMs).unref()
  }

  return {
    isKnown,
    failed: (error) => {
      const means = unavailabilityOf(error)
      if (means === null || !(error instanceof Error) || known.has(error)) return
      if (means === 'late' && current === null) return noteLate(error)
      if (current === null) {
        current = { began: now(), last: now(), errors: 0, isOfWrites: false }
        report.began(error)
      }
      known.add(error)
      current.errors++
      if (means === 'late') return
      current.last = now()
      if (means === 'no-writes') {
        current.isOfWrites = prove !== null
        proveLater()
      }
    },
    answered: () => {
      if (current !== null && !current.isOfWrites && now() - current.last >= quietMs) end(current)
    },
    proveWritesBy: (proof) => {
      prove = proof
    },
  }
}
