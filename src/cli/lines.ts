import { styleText } from 'node:util'
import { show } from './output.ts'

/** An event as the server tells it. */
export type Event = {
  readonly id: string
  readonly name: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** What became of it. `ms`: milliseconds. */
export type Result = { readonly status?: number; readonly error?: string; readonly ms: number }

type Style = Parameters<typeof styleText>[0]

/** A text without what would move the cursor of the terminal: what is in an event comes from strangers. */
const pretty = (body: string): string =>
  JSON.stringify(JSON.parse(body), null, 2)
    .split('\n')
    .map((line) => `    ${show(line)}\n`)
    .join('')

const styleOf = (status: number): Style => (status < 300 ? 'green' : status < 500 ? 'yellow' : 'red')

/** The lines that are printed while one listens. */
export const makeLines = (
  wish: {
    readonly forwardTo: URL | null
    readonly events: readonly string[]
    readonly isPrinted: boolean
    readonly isJson: boolean
  },
  isColoured: boolean,
) => {
  const paint = (style: Style, text: string) => (isColoured ? styleText(style, text, { validateStream: false }) : text)

  const outcome = ({ status, error, ms }: Result): string => {
    if (status !== undefined) return `  ${paint(styleOf(status), String(status))}  ${paint('dim', `${ms} ms`)}`
    return error === undefined ? '' : `  ${paint('red', `not delivered: ${show(error)}`)}`
  }

  return {
    ready: (base: URL, secret: string): string => {
      const what = wish.events.length > 0 ? wish.events.join(', ') : 'all events'
      const listening = `Listening to  ${base.origin} (${what}); Ctrl-C ends\n`
      if (!wish.forwardTo) return `${listening}\n`
      const posting = `Posting to    ${paint('cyan', wish.forwardTo.href)}\n`
      return `${listening}${posting}Signed with   ${paint('bold', secret)}\n\n`
    },

    event: (event: Event, result: Result): string => {
      const { id, name, body } = event
      if (wish.isJson) return `${JSON.stringify({ id, event: name, ...result, payload: JSON.parse(body) })}\n`
      const time = new Date().toTimeString().slice(0, 8)
      const line = `${paint('dim', time)}  ${paint('cyan', show(name))}  ${paint('dim', show(id))}${outcome(result)}\n`
      return wish.isPrinted ? line + pretty(body) : line
    },
  }
}
