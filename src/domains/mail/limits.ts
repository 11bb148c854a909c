// Limits of mail.

/** Mails that an account may cause within 24 h: on trial, and otherwise. Notices do not count. */
export const mailsPerDay = { trial: 20, paid: 500 }

/** Mails of one template that one account causes to one mailbox, within an hour and within 24 h. */
export const perRecipient = { hour: 5, day: 15 }

/** Mails that this process sends at the same time. */
export const concurrency = 4

/** Seconds after which another process may send a mail whose process died. */
export const leaseSeconds = 120

/** Pauses between the attempts of a mail, in seconds: hourly after the first hour. The last attempt is after 24 h. */
export const pauses: readonly number[] = [60, 300, 900, 1_800, ...Array.from({ length: 23 }, () => 3_600)]

/** Hours after which a mail fails that no process has tried to send: none has a mail server. */
export const maxQueuedHours = 48

/** Days for which the list has a mail, without its contents. */
export const mailDays = 30

/** Characters of a name that a mail shows. Names come from tenants. */
export const maxNameLength = 60

/** Characters of a link. */
export const maxLinkLength = 2_000

/** Links of one mail. */
export const maxLinks = 5
