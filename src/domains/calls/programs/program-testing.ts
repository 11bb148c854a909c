import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import { trimWav } from '../../../adapters/media/recording/wav.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { makeOutbound } from '../../../platform/lib/outbound.ts'
import { makeNativeWriter } from './native-request.ts'
import type { ProgramCall, ProgramStep, ResolvedProgram } from './program.ts'
import type { ProgramDeps, ProgramFailure, ProgramRecordings } from './program-deps.ts'

/** A request as a program received it. */
export type ReceivedRequest = {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly text: string
  readonly body: {
    readonly event: string
    readonly sequence: number
    readonly call: Readonly<Record<string, unknown>>
    readonly verb?: { readonly id: string | null; readonly name: string }
    readonly result?: Readonly<Record<string, unknown>>
    readonly error?: Readonly<Record<string, unknown>>
  }
}

/** The answer of a program at a path: verbs, or its own response. */
export type Answer = readonly object[] | null | ((response: ServerResponse, request: ReceivedRequest) => void)

/** A program on an HTTP server of its own. A path without an answer gets 404. */
export const openProgram = async (t: TestContext, answers: Record<string, Answer>) => {
  const received: ReceivedRequest[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString()
      const { method = '', url: path = '', headers } = request
      const one = { method, path, headers, text, body: text === '' ? {} : JSON.parse(text) }
      received.push(one)
      const answer = answers[path.split('?')[0] ?? '']
      if (typeof answer === 'function') return answer(response, one)
      if (answer === undefined) response.statusCode = 404
      if (answer === null) response.statusCode = 204
      response.setHeader('content-type', 'application/json; charset=utf-8')
      response.end(answer ? JSON.stringify(answer) : '')
    })
  })
  const port = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(Object(server.address()).port))
  })
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const base = `http://127.0.0.1:${port}`
  return { base, received, paths: () => received.map(({ path }) => path) }
}

export const programCall: ProgramCall = {
  id: '01900000-0000-7000-8000-000000000001',
  account: '01900000-0000-7000-8000-000000000002',
  parent: null,
  direction: 'inbound',
  origin: 'trunk',
  status: 'RINGING',
  from: '+447700900123',
  to: '+447911123456',
  number: '01900000-0000-7000-8000-000000000003',
  divertedFrom: null,
  tags: {},
}

export const secret = Buffer.from('a secret of the application')

export const resolvedProgram = (url: string, more: Partial<ResolvedProgram> = {}): ResolvedProgram => ({
  account: programCall.account,
  application: null,
  begin: { url, method: 'POST' },
  fallback: null,
  shape: 'native',
  timeoutMs: 2_000,
  secret,
  ...more,
})

/** The client for programs of tests, which are on this machine. */
export const openOutbound = (t: TestContext) => {
  const outbound = makeOutbound({ allowPrivate: true, http: true, allow: [] })
  t.after(outbound.close)
  return outbound
}

/** The dependencies of programs, with tones for speech and everything else of the kind that a test gives. */
export const makeProgramDeps = (folder: string, own: Partial<ProgramDeps> = {}) => {
  const steps: ProgramStep[] = []
  const failures: ProgramFailure[] = []
  const errors: unknown[] = []
  const sources: Parameters<ProgramRecordings['begin']>[1][] = []
  const finished: { id: string; content: Parameters<ProgramRecordings['finish']>[2] }[] = []
  const writer = makeNativeWriter({ agent: 'test', keysOf: async () => [secret] })
  const deps: ProgramDeps = {
    writers: { native: writer, twilio: writer },
    compileTwiml: () => ({ verbs: [{ verb: 'hangup' }], notes: [], baseUrl: null }),
    sounds: {
      prepare: async (_, source) =>
        'text' in source
          ? { sounds: [{ tones: [Number(source.text)], onMs: 60_000, offMs: 0, loop: 1 }], note: null }
          : { error_code: 'unreachable', detail: 'no connection' },
    },
    recordings: {
      begin: async (_, source) => {
        sources.push(source)
        const id = uuid()
        return { id, path: `${folder}/${id}.wav` }
      },
      finish: async (_, id, content) => {
        finished.push({ id, content })
        return { url: `https://files.test/${id}` }
      },
    },
    trimRecording: trimWav,
    runStream: async () => ({ reason: 'unreachable', error_code: 'stream_unreachable', detail: 'no connection' }),
    placeChild: async () => ({ failed: 402, reason: 'The balance is too low' }),
    resolve: async () => {
      throw new Error('no source of a program is known')
    },
    storeTags: async () => {},
    onStep: (_, step) => void steps.push(step),
    onFailure: async (_call, _application, failure) => void failures.push(failure),
    onError: (error) => void errors.push(error),
    ...own,
  }
  return { deps, steps, failures, errors, sources, finished }
}
