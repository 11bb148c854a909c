import Fastify from 'fastify'
import { sendSms } from '../src/domains/sms/contract.ts'
import { formats } from '../src/platform/http/validation.ts'

/** Baseline: an empty route with the body and the schemas of POST /open/sms/send, on the same Fastify. */
const app = Fastify({
  ajv: { customOptions: { coerceTypes: false, strict: false, formats: { ...formats, phone: true } } },
})
app.post(sendSms.url, { schema: { body: sendSms.body, response: { 202: sendSms.reply } } }, async (_request, reply) => {
  reply.code(202)
  return { success: true, message_uuid: 'SMO01a1fcca-93ab-7cbc-9f10-be702f775479' }
})
await app.listen({ port: 0, host: '127.0.0.1' })
const address = app.server.address()
process.stdout.write(`${typeof address === 'object' ? address?.port : ''}\n`)
