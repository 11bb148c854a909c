import type { FastifyInstance, FastifyRequest } from 'fastify'
import { mediaTypeOf } from '../lib/media-type.ts'
import { decodeFile } from '../lib/text-encoding.ts'
import { formType, multipartType, parseForm, parseMultipartForm } from './form-body.ts'
import { charsetOf, fileTypes, parseFile, unsupportedMediaType } from './upload.ts'
import { bodyProblem } from './validation.ts'

/** Installs parsers that buffer a body up to the limit of its endpoint: JSON as values, CSV as text, files as bytes. */
export const installBodyParsers = (app: FastifyInstance): void => {
  app.removeAllContentTypeParsers()
  const parseJson = app.getDefaultJsonParser('error', 'error')
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, body, done) => {
    // Some clients send the header with GET and DELETE, without a body.
    if (body === '') return done(null, undefined)
    parseJson(request, body, (error, value) => done(error ?? bodyProblem(body, value), value))
  })
  app.addContentTypeParser('text/csv', { parseAs: 'buffer' }, (request: FastifyRequest, body: Buffer) =>
    decodeFile(body, charsetOf(request)),
  )
  app.addContentTypeParser(fileTypes, { parseAs: 'buffer' }, parseFile)
}

/** Installs the parser of endpoints that take forms. */
export const installFormParser = (scope: FastifyInstance): void => {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser<string>(formType, { parseAs: 'string' }, async (_request: FastifyRequest, body: string) =>
    parseForm(body),
  )
  scope.addContentTypeParser<Buffer>(
    multipartType,
    { parseAs: 'buffer' },
    async (request: FastifyRequest, body: Buffer) => parseMultipartForm(request.headers['content-type'] ?? '', body),
  )
}

/** Installs parsers that pass bodies of any type on as streams, if the endpoint accepts the type. */
export const installStreamParsers = (scope: FastifyInstance): void => {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', (request, payload, done) => {
    const taken = request.routeOptions.config.contract?.media ?? ['text/csv']
    if (!taken.includes(mediaTypeOf(request.headers['content-type']))) return done(unsupportedMediaType(request))
    done(null, payload)
  })
}
