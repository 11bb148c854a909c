import { maxClockSkewMs } from './limits.ts'

/** The difference between the clock of this process and that of the database. */
export type ClockSkew = {
  /**
   * Notes a time of the database, which it read between two times of this process; all in Unix milliseconds. A slow
   * answer proves less: half of its time counts as doubt.
   */
  note(sentAt: number, databaseAt: number, answeredAt: number): void
  /** Seconds by which the database is ahead, negative if it is behind; null up to 2 s. */
  seconds(): number | null
}

type Log = { warn(fields: object, message: string): void; info(fields: object, message: string): void }

/** Logs when the clocks begin to differ by more than 2 s, and when that ends. */
export const makeClockSkew = (log: Log): ClockSkew => {
  let current: number | null = null
  return {
    note: (sentAt, databaseAt, answeredAt) => {
      const skew = databaseAt - (sentAt + answeredAt) / 2
      const doubt = (answeredAt - sentAt) / 2
      const seconds = Math.round(skew / 100) / 10
      if (Math.abs(skew) - doubt > maxClockSkewMs) {
        const isNew = current === null
        current = seconds
        if (isNew)
          log.warn(
            { seconds },
            'processes: the clock of this machine and that of the database differ: synchronise both (NTP)',
          )
      } else if (current !== null && Math.abs(skew) + doubt <= maxClockSkewMs) {
        current = null
        log.info({ seconds }, 'processes: the clocks of this machine and of the database agree again')
      }
    },
    seconds: () => current,
  }
}
