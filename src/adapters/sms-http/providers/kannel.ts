import type { SmsCallback } from '../../../ports/sms.ts'
import { isEqual, receiptUrl, taken, tokenOf, unauthorized, withPlus } from '../callback-content.ts'
import type { Provider } from '../provider.ts'
import { passReport, type StateWords } from '../reports.ts'
import type { KannelSettings } from '../sms-http-settings.ts'

// Kannel's smsbox (User Guide 1.4.5, chapter 6). Its answers have no id: parts are known by ours.

/** All reports: 1 delivered, 2 not delivered, 4 queued at the SMSC, 8 accepted by the SMSC, 16 refused by it. */
const reportMask = '31'

/** Values of `%d`. The bits of 34 and 66 are 2 with more about the cause (gw/dlr.h). */
const words: StateWords = new Map([
  ['1', 'delivered'],
  ['2', 'undelivered'],
  ['4', 'accepted'],
  ['8', 'enroute'],
  ['16', 'rejected'],
  ['34', 'expired'],
  ['66', 'unknown'],
])

/** Returns the network's code of `%A`: that of a receipt, or the status with which an SMSC refused. */
const errorOf = (answer: string): string | null => {
  const [, receipt] = /\berr:\s*([0-9A-Za-z]{1,10})/.exec(answer) ?? []
  if (receipt !== undefined) return /^0+$/.test(receipt) ? null : receipt
  const [, status] = /^NACK\/(0x[0-9a-fA-F]{1,8}|[0-9]{1,8})/.exec(answer) ?? []
  return status ?? null
}

/** Returns the octets of a parameter. Kannel passes UCS-2 on as it is, which no query parser reads. */
const octetsOf = (url: string, name: string): Buffer => {
  const query = url.slice(url.indexOf('?') + 1)
  const pair = query.split('&').find((one) => one.startsWith(`${name}=`)) ?? ''
  const octets: number[] = []
  for (const [piece] of pair.slice(name.length + 1).matchAll(/%[0-9A-Fa-f]{2}|[^%]|%/g))
    if (piece.length === 3) octets.push(Number.parseInt(piece.slice(1), 16))
    else octets.push(...Buffer.from(piece === '+' ? ' ' : piece))
  return Buffer.from(octets)
}

const textOf = ({ url, query }: SmsCallback): string =>
  query.coding === '2'
    ? new TextDecoder('utf-16be').decode(octetsOf(url, 'text'))
    : octetsOf(url, 'text').toString('utf8')

/** The beginning of the answer to false credentials, with the status 403. */
const deniedWords = 'Authorization failed'

const codes: readonly (readonly [beginning: string, code: string])[] = [
  ['Not routable', 'not_routable'],
  ['Missing receiver', 'receiver'],
  ['Empty receiver', 'receiver'],
  ['Sender missing', 'sender'],
  ['Charset or body', 'body'],
]

export const kannel: Provider<KannelSettings> = {
  submit: ({ base_url, username, password, smsc }, part) => {
    const query = new URLSearchParams({
      username,
      password,
      from: part.source,
      to: part.destination,
      text: part.text,
      charset: 'UTF-8',
      coding: part.encoding === 'gsm7' ? '0' : '2',
    })
    if (smsc !== undefined) query.set('smsc', smsc)
    if (part.validSeconds !== undefined) query.set('validity', String(Math.max(1, Math.ceil(part.validSeconds / 60))))
    const address = receiptUrl(part.callback)
    if (address !== null) {
      query.set('dlr-mask', reportMask)
      query.set('dlr-url', `${address}&state=%d&answer=%A`)
    }
    return { method: 'GET', url: `${base_url}?${query.toString()}`, headers: {}, body: null }
  },
  read: (_settings, { message, part, callback }, { status, body }) => {
    // 202: accepted by the SMSC, or in Kannel's queue. Former versions answer 200.
    if (status === 202 || status === 200) return { meaning: 'taken', id: callback?.token ?? `${message}.${part}` }
    if (status >= 200 && status < 300) return { meaning: 'unclear', words: body }
    if (body.startsWith(deniedWords)) return { meaning: 'denied', words: body }
    const code = codes.find(([beginning]) => body.startsWith(beginning))?.[1] ?? null
    return { meaning: 'refused', code, words: body }
  },
  callback: async (settings, request, intake) => {
    const { query } = request
    const token = tokenOf(request)
    if (token !== undefined) {
      if (!request.isGenuine(token)) return unauthorized
      const word = query.state ?? ''
      await passReport(
        intake,
        { id: token, token, word, error: errorOf(query.answer ?? ''), raw: Buffer.from(word) },
        words,
        settings.receipt_states,
      )
      return taken
    }
    const { callback_secret: secret } = settings
    if (secret === undefined || !isEqual(query.secret ?? '', secret)) return unauthorized
    const { from = '', to = '', id } = query
    if (from !== '' && to !== '')
      await intake.inbound({
        ...{ source: withPlus(from), destination: withPlus(to), text: textOf(request), concat: null },
        ...(id ? { id } : {}),
      })
    // With a body, Kannel would send it to the handset.
    return taken
  },
  reasons: new Map([
    ['not_routable', { text: 'Kannel has no route to the recipient', advice: 'check_settings' }],
    ['receiver', { text: 'Kannel does not accept the number of the recipient', advice: 'check_number' }],
    ['sender', { text: 'Kannel does not accept the number of the sender', advice: 'other_sender' }],
    ['body', { text: 'Kannel does not accept the text', advice: 'change_text' }],
  ]),
}
