/**
 * Watches whether the database answers, so that an outage is logged at its begin and its end instead of at every
 * attempt.
 */
export type OutageMonitor = {
  /** Notes an error of a statement or connection. Errors that do not mean an outage are ignored. */
  failed(error: unknown): void
  /** Notes an answer. An outage ends with the first answer that comes a second after the last failure. */
  answered(): void
  /** Returns true for an error of an outage that was logged, and for an error that it caused. */
  isKnown(error: unknown): boolean
}

type OutageReport = {
  began(error: Error): void
  /** @param seconds duration of the outage @param errors number of statements that failed in it */
  ended(seconds: number, errors: number): void
}

const quietMs = 1000

/** SQLSTATEs (PostgreSQL, appendix A) of a server that is down, starting, stopping, full or read-only. */
const outageStates = /^(?:08|25006|53300|57P0[1-5])/
const messages =
  /ECONNREFUSED|ECONNRESET|ENOENT|EPIPE|ETIMEDOUT|EHOSTUNREACH|Connection terminated|database is read-only/

const meansOutage = (error: Error): boolean => {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return outageStates.test(code) || messages.test(`${error.message} ${code}`)
}

export const makeOutageMonitor = (report: OutageReport, now: () => number = () => performance.now()): OutageMonitor => {
  const known = new WeakSet<Error>()
  let current: { began: number; last: number; errors: number } | null = null

  const isKnown = (error: unknown): boolean =>
    error instanceof Error && (known.has(error) || (error.cause !== undefined && isKnown(error.cause)))

  return {
    isKnown,
    failed: (error) => {
      if (!(error instanceof Error) || known.has(error) || !meansOutage(error)) return
      if (current === null) {
        current = { began: now(), last: now(), errors: 0 }
        report.began(error)
      }
      known.add(error)
      current.last = now()
      current.errors++
    },
    answered: () => {
      if (current === null || now() - current.last < quietMs) return
      const { began, last, errors } = current
      current = null
      report.ended(Math.round(last - began) / 1000, errors)
    },
  }
}
