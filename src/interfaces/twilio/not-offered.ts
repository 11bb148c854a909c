import type { FastifyInstance } from 'fastify'
import type { CompatRefusal, Problem } from '../../platform/http/problem.ts'
import { jsonType } from '../../platform/http/socket.ts'
import { refusals } from './refusals.ts'

/** Resources of Twilio that are not offered, by a part of their path, with what to use instead. */
const replacements: readonly { readonly part: RegExp; readonly instead: string }[] = [
  { part: /\/Transcriptions\b/, instead: 'recordings are not transcribed' },
  { part: /\/(?:Conferences|Queues|SIP)\b/, instead: 'there is no replacement yet' },
  { part: /\/OutgoingCallerIds\b/, instead: 'prove caller IDs with POST /open/voip/caller-ids' },
  { part: /\/(?:Usage|Notifications)\b/, instead: 'use GET /open/ledger and GET /open/usage of the native interface' },
  { part: /\/(?:Keys|SigningKeys)\b/, instead: 'use GET and POST /open/keys of the native interface' },
  { part: /\/(?:Addresses|RegulatoryCompliance|Bundles)\b/, instead: 'use the registrations of the native interface' },
  { part: /\/Services\b/, instead: 'verification, sender pools and conversations are not offered' },
  { part: /\/Tokens?\b/, instead: 'use POST /open/sdk/access-token of the native interface' },
  { part: /\/Accounts$/, instead: 'an operator makes accounts with POST /operator/accounts' },
]

/** Returns the refusal of a path that no contract has. */
export const notOfferedRefusal = (path: string): Problem => {
  const found = replacements.find(({ part }) => part.test(path))
  return found ? refusals.notOffered(path, found.instead) : refusals.unknownResource(path)
}

/** Path to which those that end in `.xml` are rewritten. */
const xmlPath = '/2010-04-01/.xml'

/** Rewrites paths of the first version: without `.json`, as the contracts have them. */
export const rewriteCompatPath = (url: string): string => {
  if (!url.startsWith('/2010-04-01/')) return url
  const [path = '', ...query] = url.split(/(?=\?)/)
  const rest = query.join('')
  if (path.endsWith('.xml')) return xmlPath + rest
  // The file of a recording.
  if (path.endsWith('.wav')) return `${path.slice(0, -4)}/Media${rest}`
  return (path.endsWith('.json') ? path.slice(0, -5) : path) + rest
}

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

/** The beginnings of the paths of the interface. */
export const compatPaths = ['/2010-04-01/', '/v1/', '/v2/'] as const

/** Answers all other paths of the interface with 404 and code 20404, and those for XML with 406, whatever their body is. */
export const installNotOffered = async (
  app: FastifyInstance,
  refusalOf: (problem: Problem) => CompatRefusal,
): Promise<void> => {
  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, async () => undefined)
    for (const beginning of compatPaths)
      scope.route({
        method: [...methods],
        url: `${beginning}*`,
        handler: (request, reply) => {
          const path = (request.originalUrl.split('?', 1)[0] ?? '').replace(/\.json$/, '')
          const problem = request.url.startsWith(xmlPath) ? refusals.noXml() : notOfferedRefusal(path)
          const { status, body } = refusalOf(problem)
          return reply.code(status).type(jsonType).send(JSON.stringify(body))
        },
      })
  })
}
