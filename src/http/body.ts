import type { FastifyInstance } from 'fastify'
import { bePatient } from './socket.ts'
import { fileTypes, takeFile, typeOf, wrongType } from './upload.ts'
import { badBody } from './validation.ts'

/** Reads bodies to their end, up to the limit of their endpoint: JSON as values, CSV as text, files as bytes. */
export const readBodies = (app: FastifyInstance): void => {
  app.removeAllContentTypeParsers()
  const parseJson = app.getDefaultJsonParser('error', 'error')
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, body, done) => {
    // Clients send the header with GET and DELETE too, and then no body.
    if (body === '') return done(null, undefined)
    parseJson(request, body, (error, value) => done(error ?? badBody(body, value), value))
  })
  app.addContentTypeParser('text/csv', { parseAs: 'string' }, (_request, body, done) => done(null, body))
  app.addContentTypeParser(fileTypes, { parseAs: 'buffer' }, takeFile)
}

/** Hands bodies over as they come. The key of the request was looked at before, and nobody is hurried from here on. */
export const streamBodies = (scope: FastifyInstance): void => {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser(['text/csv', 'text/vcard', 'text/x-vcard'], (request, payload, done) => {
    const taken = request.routeOptions.config.contract?.media ?? ['text/csv']
    if (!taken.includes(typeOf(request))) return done(wrongType(request))
    bePatient(request.raw.socket)
    done(null, payload)
  })
}
