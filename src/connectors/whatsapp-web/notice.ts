/** What whoever links a number is to know before; `docs/whatsapp-web.md` says more. */
export const notice = [
  'WhatsApp Web is the protocol of the consumer application. Its provider’s terms forbid automated use: numbers are restricted or banned for it, with no notice.',
  'The library that speaks it (baileys, MIT) needs libsignal, which is under the GPL 3.0: it is no part of Trunkline and is installed apart.',
  'For business numbers there is the official way: whatsapp-cloud.',
].join(' ')

/** What is said when nobody has agreed to it. */
export const unaccepted = `${notice} Whoever accepts this sets accept_notice of the connection to true`
