import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'

/** Asks on the terminal without echoing the input. */
export const promptHidden = async (question: string): Promise<string> => {
  process.stderr.write(question)
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: process.stdin, output: nowhere, terminal: true })
  // Ctrl-C and Ctrl-D: nothing has begun yet.
  lines.once('SIGINT', () => process.exit(130))
  const ended = new Promise<string>((resolve) => lines.once('close', () => resolve('')))
  try {
    return await Promise.race([lines.question(''), ended])
  } finally {
    lines.close()
    process.stderr.write('\n')
  }
}
