import { scopeRefusal } from '../../platform/http/auth.ts'
import { ok, route } from '../../platform/http/endpoint.ts'
import type { Services } from '../../services.ts'
import * as c from './contract.ts'
import { maxReportDays } from './limits.ts'
import { refusals } from './refusals.ts'
import { presentReport, readReport } from './report.ts'
import * as store from './store.ts'
import { dayOf, oneDay } from './utc-day.ts'

// The years that PostgreSQL and ISO 8601 format alike.
const earliest = Date.parse('0001-01-01')
const latest = Date.parse('9999-12-31')
const inRange = (time: number): number => Math.min(Math.max(time, earliest), latest)

/** Returns the first day and the day after the last. Defaults: the 30 days that end with today. @throws Problem 400 */
const daysOf = (since: string | undefined, until: string | undefined, now: Date): store.Days => {
  const end = inRange(Math.ceil((until === undefined ? now.getTime() + 1 : Date.parse(until)) / oneDay) * oneDay)
  const start = inRange(since === undefined ? end - 30 * oneDay : Math.floor(Date.parse(since) / oneDay) * oneDay)
  if (start >= end) throw refusals.emptyPeriod()
  if (end - start > maxReportDays * oneDay) throw refusals.periodTooLong(maxReportDays)
  return { from: dayOf(start), to: dayOf(end) }
}

export const usageRoutes = ({ db }: Services) => [
  route(c.getUsage, async ({ account, key, query }) => {
    const { by = 'kind', step = 'day', kind = null } = query
    return await db.begin(async (tx) => {
      await store.beginSnapshot(tx)
      const days = daysOf(query.since, query.until, await store.now(tx))
      const report = await readReport(tx, account.id, { by, step, kind, days })
      const period = { since: `${days.from}T00:00:00Z`, until: `${days.to}T00:00:00Z` }
      return ok({ ...period, step, by, ...presentReport(report, by, scopeRefusal(key, 'money') === null) })
    })
  }),
]
