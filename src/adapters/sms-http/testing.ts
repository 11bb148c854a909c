import type { SmsCallback, SmsInbound, SmsIntake, SmsPart, SmsReceipt, UnparsedReceipt } from '../../ports/sms.ts'

/** A part as the domain submits it. */
export const testPart = (more: Partial<SmsPart> = {}): SmsPart => ({
  message: '019ac000-0000-7000-8000-000000000001',
  part: 1,
  parts: 1,
  source: '+14155550100',
  destination: '+14155550123',
  text: 'Hello & goodbye "€"',
  encoding: 'gsm7',
  reference: 0,
  callback: { url: 'https://us.example/callbacks/sms/CNX1', token: 'TOKEN.1.MAC' },
  ...more,
})

/** A request of a provider to the callback address. The token of `testPart` is genuine. */
export const testCallback = (given: {
  method?: 'GET' | 'POST'
  query?: string
  headers?: SmsCallback['headers']
  body?: string
  address?: string
}): SmsCallback => {
  const { method = 'POST', query = '', headers = {}, body = '', address = '203.0.113.1' } = given
  return {
    method,
    url: `https://us.example/callbacks/sms/CNX1${query === '' ? '' : `?${query}`}`,
    address,
    query: Object.fromEntries(new URLSearchParams(query)),
    headers,
    raw: Buffer.from(body),
    isGenuine: (token) => token === 'TOKEN.1.MAC',
  }
}

/** An intake that keeps what it gets. */
export const makeTestIntake = () => {
  const receipts: SmsReceipt[] = []
  const messages: SmsInbound[] = []
  const unparsed: UnparsedReceipt[] = []
  const intake: SmsIntake = {
    inbound: async (message) => void messages.push(message),
    receipt: async (receipt) => void receipts.push(receipt),
    receiptIfSent: async () => false,
    unparsed: async (receipt) => void unparsed.push(receipt),
  }
  return { intake, receipts, messages, unparsed }
}
