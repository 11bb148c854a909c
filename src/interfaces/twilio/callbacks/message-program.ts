import { maxRedirects, maxReplies, programTotalMs } from '../limits.ts'
import type { MessageAnswer, Reply } from '../twiml/message-verbs.ts'
import { TwimlError } from '../twiml/twiml-error.ts'
import { type Program, type ProgramAnswer, type RequestDeps, RequestError, requestProgram } from './program-request.ts'
import type { Parameters } from './signature.ts'

const documentTypes = ['text/xml', 'application/xml', 'text/html', '']

/** Reads an answer. Plain text is the text of a reply; an empty answer has none. @throws TwimlError */
const readAnswer = async ({ url, type, body }: ProgramAnswer): Promise<MessageAnswer> => {
  if (body.trim() === '') return { replies: [], redirect: null }
  if (type === 'text/plain') {
    const reply: Reply = { to: null, from: null, text: body.trim(), media: [], callbackUrl: null }
    return { replies: [reply], redirect: null }
  }
  if (!documentTypes.includes(type)) throw new TwimlError(12300, `the content type ${type} is not TwiML`)
  // The parser is loaded with the first document: few installations need it.
  const { compileMessageAnswer } = await import('../twiml/message-verbs.ts')
  return compileMessageAnswer(url, body)
}

/**
 * Runs the program of a number, from its first document over all redirects.
 * @param totalMs milliseconds for all documents @throws RequestError
 */
export const runProgram = async (
  deps: RequestDeps,
  first: Program,
  parameters: Parameters,
  id: string,
  totalMs = programTotalMs,
): Promise<Reply[]> => {
  const replies: Reply[] = []
  let left = totalMs
  let program: Program | null = first
  for (let n = 0; program !== null; n++) {
    const { url }: Program = program
    if (n > maxRedirects) throw new RequestError(11215, url, `more than ${maxRedirects} redirects`)
    if (left <= 0) throw new RequestError(11200, url, `the documents took more than ${totalMs / 1_000} s`)
    const answer: ProgramAnswer = await requestProgram(deps, program, parameters, id, left)
    left -= answer.ms
    try {
      const compiled = await readAnswer(answer)
      replies.push(...compiled.replies)
      if (replies.length > maxReplies) throw new TwimlError(12200, `more than ${maxReplies} messages in an answer`)
      program = compiled.redirect
    } catch (error) {
      throw error instanceof TwimlError ? new RequestError(error.code, url, error.message) : error
    }
  }
  return replies
}
