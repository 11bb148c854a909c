import type { Config } from '../../config.ts'
import type { Metrics } from '../../platform/http/metrics.ts'
import type { MailOutcome, MailTransport } from '../../ports/mail.ts'
import { openTransport } from './drivers.ts'
import type { RenderedMail } from './render.ts'

/** Sends the mails of the installation. */
export type Mailer = {
  /** False without TRUNKLINE_SMTP_URL: links are shown instead of mailed. */
  readonly isConfigured: boolean
  /** Sends a mail now. @param id of the mail @throws Error without a mail server */
  send(id: string, to: string, mail: RenderedMail, signal?: AbortSignal): Promise<MailOutcome>
  /** Counts a mail by its outcome. */
  readonly count: ReturnType<Metrics['counter']>
}

export const makeMailer = ({ smtp, mailFrom }: Pick<Config, 'smtp' | 'mailFrom'>, metrics: Metrics): Mailer => {
  let transport: Promise<MailTransport> | null = null
  return {
    isConfigured: smtp !== null && mailFrom !== null,
    count: metrics.counter('trunkline_mail_messages_total', 'Mails by template and outcome', ['template', 'outcome']),
    send: async (id, to, mail, signal) => {
      if (smtp === null || mailFrom === null) throw new Error('no mail server is set')
      transport ??= openTransport(smtp)
      const messageId = `<${id}@${mailFrom.address.split('@')[1]}>`
      return (await transport).send({ messageId, from: mailFrom, to, ...mail }, signal)
    },
  }
}
