import Fastify from 'fastify'
import pg from 'pg'
import { sendSms } from '../src/domains/sms/contract.ts'
import { formats } from '../src/platform/http/validation.ts'
import { uuid } from '../src/platform/lib/id.ts'

// Yardstick: the server that one writes in an hour. POST /open/sms/send of Fastify, one transaction with a debit and an
// insert for each message, as durable as the platform. Prints its port.

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 16 })
await pool.query(`
  create table if not exists yardstick_accounts (key text primary key, id uuid not null, balance numeric not null);
  create table if not exists yardstick_messages (id uuid primary key, account uuid not null, sender text not null,
    recipient text not null, text text not null, price numeric not null, created_at timestamptz not null default now())`)
for (const key of (process.env.BENCH_KEYS ?? '').split(','))
  await pool.query('insert into yardstick_accounts values ($1, $2, 1000000) on conflict do nothing', [key, uuid()])

const app = Fastify({
  ajv: { customOptions: { coerceTypes: false, strict: false, formats: { ...formats, phone: true } } },
})
type Body = { from_number: string; to_number: string; text: string }
app.post<{ Body: Body }>(
  sendSms.url,
  { schema: { body: sendSms.body, response: { 202: sendSms.reply } } },
  async (request, reply) => {
    const { from_number: from, to_number: to, text } = request.body
    const client = await pool.connect()
    try {
      await client.query('begin')
      const debit = await client.query({
        name: 'debit',
        text: 'update yardstick_accounts set balance = balance - 0.04 where key = $1 and balance >= 0.04 returning id',
        values: [request.headers['x-user-api-key']],
      })
      const id = uuid()
      await client.query({
        name: 'insert',
        text: 'insert into yardstick_messages values ($1, $2, $3, $4, $5, 0.04)',
        values: [id, debit.rows[0].id, from, to, text],
      })
      await client.query('commit')
      reply.code(202)
      return { success: true, message_uuid: `SMO${id}` }
    } catch (error) {
      await client.query('rollback')
      throw error
    } finally {
      client.release()
    }
  },
)
await app.listen({ port: 0, host: '127.0.0.1' })
const address = app.server.address()
process.stdout.write(`${typeof address === 'object' ? address?.port : ''}\n`)
