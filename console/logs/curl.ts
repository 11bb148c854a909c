import { type Message, sidesOf } from './message-state.tsx'

/** Puts a text in single quotes for a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** The request that sends a message as a command for a shell; for a received one, the request that reads it. */
export const curlOf = (message: Message, origin: string): string => {
  const key = `-H 'X-User-Api-Key: YOUR_API_KEY'`
  if (message.direction === 'inbound') return `curl ${origin}/open/sms/message/${message.uuid} ${key}`
  const { own, contact } = sidesOf(message)
  const body = JSON.stringify({ from_number: own, to_number: contact, text: message.text })
  return [
    `curl -X POST ${origin}/open/sms/send ${key}`,
    `-H 'Content-Type: application/json'`,
    `-d ${quoted(body)}`,
  ].join(' \\\n  ')
}
