// Limits of mail.

/** Mails that an account may cause within 24 h; on trial, and otherwise. Notices do not count. */
export const mailsPerDay = { trial: 20, paid: 500 }

/** Mails of one template to one mailbox, within an hour and within 24 h. */
export const perRecipient = { hour: 5, day: 15 }

/** Mails that this process sends at the same time. */
export const concurrency = 4

/** Seconds after which another process may send a mail whose process died. */
export const leaseSeconds = 120

/** Pauses between the attempts of a mail, in seconds: 1 and 5 min, then longer ones. The last attempt is after 25 h. */
export const pauses = [60, 300, 900, 1_800, 3_600, 7_200, 10_800, 14_400, 14_400, 14_400, 21_600]

/** Days for which the list has a mail, without its contents. */
export const mailDays = 30

/** Characters of a name that a mail shows. Names come from tenants. */
export const maxNameLength = 60

/** Characters of the name of a browser, and of a link. */
export const maxBrowserLength = 120
export const maxLinkLength = 2_000

/** Links of one mail. */
export const maxLinks = 5
