import type { SipMessage } from './message.ts'

const startLine = (message: SipMessage): string =>
  message.kind === 'request'
    ? `${message.method} ${message.uri} SIP/2.0`
    : `SIP/2.0 ${message.status} ${message.reason}`

/**
 * Prints a message. Content-Length is computed here; headers of that name are ignored.
 * @throws TypeError when a value holds a line break: foreign input must not become a header of ours
 */
export const printMessage = (message: SipMessage): Buffer => {
  const lines = [startLine(message)]
  for (const [name, value] of message.headers) if (name !== 'Content-Length') lines.push(`${name}: ${value}`)
  lines.push(`Content-Length: ${message.body.length}`)
  for (const line of lines)
    if (/[\r\n]/.test(line)) throw new TypeError(`a line break within ${JSON.stringify(line.slice(0, 80))}`)
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), message.body])
}
