import type { Metrics } from '../../platform/http/metrics.ts'
import { type JobKind, Retry } from '../../platform/jobs/job-kind.ts'
import type { Schedule } from '../../platform/jobs/schedule.ts'
import type { Services } from '../../services.ts'
import { concurrency, leaseSeconds, mailDays, maxQueuedHours, pauses } from './limits.ts'
import { placeOf, type SendPayload, sendKind } from './ops.ts'
import { renderMail } from './render.ts'
import * as store from './store.ts'
import type { MailValues, TemplateName } from './templates.ts'

type Result = { readonly template: string; readonly state: 'sent' | 'failed'; readonly outcome: string } | null

const maxAttempts = pauses.length + 1

const expiryOf = (values: object): number =>
  'expires_at' in values ? Date.parse(String(values.expires_at)) : Number.POSITIVE_INFINITY

/**
 * Job that sends a mail. A mail that a server accepted just before a crash is sent again, with the same Message-ID.
 * Without a mail server there is no such job: mails wait for a process that has one.
 */
export const mailJobs = (services: Services): JobKind[] => {
  const { db, seal, mail, clock, publicUrl, log } = services
  const send: JobKind<SendPayload, Result> = {
    kind: sendKind,
    concurrency,
    batch: concurrency,
    leaseSeconds,
    maxAttempts,
    fair: true,
    run: async ({ payload, attempt }, signal) => {
      const row = await store.findQueued(db, payload.mail)
      if (!row) return null
      const { id, recipient } = row
      // Sealed by queueMail of this or an earlier version, from the values of this template.
      const template = row.template as TemplateName
      const values = JSON.parse(seal.openBytes(row.sealed_values, placeOf(id)).toString()) as MailValues[TemplateName]
      if (expiryOf(values) <= clock.now())
        return { template, state: 'failed', outcome: 'The link in it expired before the mail could be sent' }
      const result = await mail.send(id, recipient, renderMail(template, values, publicUrl()), signal)
      if (result.outcome === 'sent') return { template, state: 'sent', outcome: result.reply }
      const outcome = `${result.step}: ${result.error}`
      if (result.isPermanent || attempt >= maxAttempts) return { template, state: 'failed', outcome }
      await store.noteAttempt(db, id, attempt, outcome)
      mail.count({ template, outcome: 'retried' })
      // Replies of servers name the recipient, whom the log does not show.
      throw new Retry(`mail: failed at ${result.step}`, pauses[attempt - 1] ?? 60)
    },
    onComplete: async (tx, done) => {
      const ended = done.flatMap(({ job, result }) =>
        result ? [{ id: job.payload.mail, attempts: job.attempt, ...result }] : [],
      )
      if (ended.length === 0) return
      await store.end(tx, ended)
      tx.afterCommit(() => {
        for (const { id, template, state } of ended) {
          mail.count({ template, outcome: state })
          if (state === 'failed') log.warn({ mail: id, template }, 'mail: sending failed')
        }
      })
    },
    onDiscard: async (tx, { payload, attempt }, error) => {
      await store.end(tx, [{ id: payload.mail, state: 'failed', attempts: attempt, outcome: error }])
    },
  }
  // All jobs of this kind were added by queueMail.
  return mail.isConfigured ? [send as JobKind] : []
}

/** Schedule that deletes old mails. */
export const deleteOldMails: Schedule = {
  name: 'forget-mails',
  every: 3_600,
  run: async (tx) => {
    await store.endForgotten(tx, maxQueuedHours)
    await store.deleteOlder(tx, mailDays)
  },
}

/** Registers the gauge of mails that wait or failed. */
export const installMailMetrics = (metrics: Metrics, db: Services['db']): void =>
  metrics.gauge('trunkline_mails', 'Mails that wait, and mails of the last 24 h that failed', ['state'], async () =>
    Object.entries(await store.counts(db)).map(([state, value]) => ({ labels: { state }, value })),
  )
