import { styleText } from 'node:util'
import { displayText } from '../output/format-reply.ts'

/** An event as the server sends it. */
export type DeliveredEvent = {
  readonly id: string
  readonly name: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Result of a delivery. `ms`: milliseconds. */
export type DeliveryResult = { readonly status?: number; readonly error?: string; readonly ms: number }

type Style = Parameters<typeof styleText>[0]

/** Returns a text without control characters that could move the terminal's cursor: events contain foreign data. */
const withoutControls = (body: string): string =>
  JSON.stringify(JSON.parse(body), null, 2)
    .split('\n')
    .map((line) => `    ${displayText(line)}\n`)
    .join('')

const styleOf = (status: number): Style => (status < 300 ? 'green' : status < 500 ? 'yellow' : 'red')

/** Returns the printer of the listen command's lines. */
export const makeEventLines = (
  options: {
    readonly forwardTo: URL | null
    readonly events: readonly string[]
    readonly isPrinted: boolean
    readonly isJson: boolean
  },
  isColoured: boolean,
) => {
  const paint = (style: Style, text: string) => (isColoured ? styleText(style, text, { validateStream: false }) : text)

  const outcome = ({ status, error, ms }: DeliveryResult): string => {
    if (status !== undefined) return `  ${paint(styleOf(status), String(status))}  ${paint('dim', `${ms} ms`)}`
    return error === undefined ? '' : `  ${paint('red', `not delivered: ${displayText(error)}`)}`
  }

  return {
    ready: (base: URL, secret: string): string => {
      const what = options.events.length > 0 ? options.events.join(', ') : 'all events'
      const listening = `Listening to  ${base.origin} (${what}); Ctrl-C ends\n`
      if (!options.forwardTo) return `${listening}\n`
      const posting = `Posting to    ${paint('cyan', options.forwardTo.href)}\n`
      return `${listening}${posting}Signed with   ${paint('bold', secret)}\n\n`
    },

    event: (event: DeliveredEvent, result: DeliveryResult): string => {
      const { id, name, body } = event
      if (options.isJson) return `${JSON.stringify({ id, event: name, ...result, payload: JSON.parse(body) })}\n`
      const time = new Date().toTimeString().slice(0, 8)
      const line = `${paint('dim', time)}  ${paint('cyan', displayText(name))}  ${paint('dim', displayText(id))}${outcome(result)}\n`
      return options.isPrinted ? line + withoutControls(body) : line
    },
  }
}
