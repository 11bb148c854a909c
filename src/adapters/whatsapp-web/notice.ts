/** Notice that an operator must accept before linking numbers; `docs/whatsapp-web.md` has details. */
export const notice = [
  'WhatsApp Web is the protocol of the consumer application. Its provider’s terms forbid automated use: numbers are restricted or banned for it, with no notice.',
  'The library that speaks it (baileys, MIT) needs libsignal, which is under the GPL 3.0: it is not part of Trunkline and is installed separately.',
  'For business numbers there is the official way: whatsapp-cloud.',
].join(' ')

/** Error while the notice is not accepted. */
export const noticeNotAccepted = `${notice} To accept this, set accept_notice of the connection to true`
