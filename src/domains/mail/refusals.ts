import { conflict, invalid, retryAfter, tooMany } from '../../platform/http/problem.ts'

export const refusals = {
  notConfigured: () =>
    conflict(
      'This installation sends no mail: set TRUNKLINE_SMTP_URL and TRUNKLINE_MAIL_FROM, and start it again',
      'mail_not_configured',
    ),
  badRecipient: (address: string) => invalid(`${address} is not an address that mail can be sent to`).at('email', 'to'),
  accountLimit: (most: number) =>
    tooMany(`The account has sent its ${most} mails of 24 hours: try again later`, 'mail_limit', retryAfter(3_600)),
  recipientLimit: (seconds: number) =>
    tooMany(
      'This address has got several such mails: look into its spam folder, or try again later',
      'mail_limit',
      retryAfter(seconds),
    ).at('email', 'to'),
}
