import { createServer } from 'node:http'
import { after } from 'node:test'
import { putPrices } from '../../../test/prices.ts'
import { type Answer, makeWorld, type Tenant, type World } from '../../../test/world.ts'
import { startWorker } from '../../platform/jobs/consume/worker.ts'
import { printSid } from '../../platform/lib/sid.ts'
import { twilioJobs } from './callbacks/jobs.ts'

/** Credentials of a tenant for the interface. */
type Credentials = { readonly sid: string; readonly token: string; readonly key: string }

/** An answer; the body is null without one. */
type TwilioAnswer = Answer

type Fields = Readonly<Record<string, string | readonly string[]>>

/** Encodes a form; lists repeat their name. */
const formOf = (fields: Fields): string => {
  const form = new URLSearchParams()
  for (const [name, value] of Object.entries(fields)) for (const one of [value].flat()) form.append(name, one)
  return form.toString()
}

export const basic = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`

type TwilioWorld = World & {
  /** Makes credentials for a tenant. */
  credentials(who: Tenant): Promise<Credentials>
  /** Makes a request with a path below the account; `query` for GET, else `fields` as a form. */
  ask(own: Credentials, method: 'GET' | 'POST' | 'DELETE', path: string, fields?: Fields): Promise<TwilioAnswer>
}

/** An installation whose callbacks may reach this machine, with a worker for them. */
export const makeTwilioWorld = async (): Promise<TwilioWorld> => {
  const world = await makeWorld({ TRUNKLINE_ALLOW_PRIVATE_HOOKS: 'true', TRUNKLINE_ALLOW_HTTP_HOOKS: 'true' })
  const { app, db, parts } = world
  await putPrices(world, [{ kind: 'sms_out', prefix: '', price: '0.05' }])
  const worker = startWorker({ db, log: parts.log, kinds: twilioJobs(parts), schedules: [] })
  after(() => worker.stop(1_000))
  return {
    ...world,
    credentials: async (who) => {
      const { status, body } = await world.call(who, 'POST', '/open/compat/credentials', {})
      if (status !== 201) throw new Error(JSON.stringify(body))
      return { sid: body.account_sid, token: body.auth_token, key: body.key_uuid }
    },
    ask: async ({ sid, token }, method, path, fields = {}) => {
      const isGet = method === 'GET'
      const query = formOf(fields)
      const answer = await app.inject({
        method,
        url: `/2010-04-01/Accounts/${sid}${path}${isGet && query !== '' ? `?${query}` : ''}`,
        headers: {
          authorization: basic(sid, token),
          ...(method === 'POST' ? { 'content-type': 'application/x-www-form-urlencoded' } : {}),
        },
        ...(method === 'POST' ? { payload: query } : {}),
      })
      return {
        status: answer.statusCode,
        body: answer.body === '' ? null : answer.json(),
        headers: answer.headers,
      }
    },
  }
}

/** An installation with a trunk, as if a process ran its calls: they wait in the queue until the test claims them. */
export const makeCallWorld = async () => {
  const world = await makeTwilioWorld()
  const { call, credentials, db, tenant } = world
  await putPrices(world, [{ kind: 'call_out', prefix: '', price: '0.01' }])
  const settings = { host: '127.0.0.1', port: 9 }
  await call('operator', 'POST', '/operator/connections', { kind: 'sip-trunk', name: 'trunk', settings })
  await db.run`update voice_lease set holder = 'a test'`
  const [from, to] = ['+442079460123', '+442079460199']
  /** A tenant with a balance, and with `from` as its caller ID. */
  const open = async () => {
    const who = await tenant({ balance: '100' })
    await db.run`
      insert into caller_ids (account_id, id, phone_number, friendly_name, iso_country_code, type, verified)
      values (${who.id}, gen_random_uuid(), ${from}, 'x', 'GB', 'CI', true)`
    return { who, own: await credentials(who) }
  }
  return { ...world, from, to, open }
}

/** A request to a program of the test. */
type ProgramRequest = {
  readonly method: string
  readonly path: string
  readonly parameters: Readonly<Record<string, string>>
  readonly signature: string
  /** The same for repetitions of one request. */
  readonly id: string
}

type ProgramReply = { readonly status?: number; readonly type?: string; readonly body?: string }

/**
 * A program of an account, which answers by path. Other paths answer 200 without a body.
 * @param before called with the number of a request, from 1; its result replaces the answer
 */
export const startProgram = async (
  answers: Readonly<Record<string, ProgramReply>> = {},
  before: (n: number) => Promise<ProgramReply | undefined> = async () => undefined,
) => {
  const requests: ProgramRequest[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => {
      body += chunk
    })
    request.on('end', async () => {
      const { pathname, search } = new URL(request.url ?? '/', 'http://x')
      const form = request.method === 'POST' ? body : search
      requests.push({
        method: request.method ?? '',
        path: pathname,
        parameters: Object.fromEntries(new URLSearchParams(form)),
        signature: String(request.headers['x-twilio-signature']),
        id: String(request.headers['i-twilio-idempotency-token']),
      })
      const answer = (await before(requests.length)) ?? answers[pathname] ?? {}
      const { status = 200, type = 'text/xml', body: text = '' } = answer
      response.writeHead(status, { 'content-type': type }).end(text)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  after(() => server.close())
  return { requests, url: (path: string) => `http://127.0.0.1:${Object(server.address()).port}${path}` }
}

/**
 * Puts a group of free local numbers on sale: set-up 1 USD, 1.50 USD a month.
 * @param area leading digits after the calling code @returns the numbers
 */
export const stockNumbers = async (
  { db }: Pick<World, 'db'>,
  { iso, name, code, area }: { iso: string; name: string; code: string; area: string },
  count: number,
): Promise<string[]> => {
  const id = `${iso}-local-${area}`
  const numbers = Array.from({ length: count }, (_, n) => `+${code}${area}${String(555_000 + n)}`.padEnd(12, '0'))
  await db.run`insert into number_countries values (${iso}, ${name}, ${code}) on conflict do nothing`
  await db.run`
    insert into number_groups (id, iso_country_code, type, prefix, location, folded, setup_price, monthly_price, ppm,
      allow_number_selection, is_eligible_for_free_number, supplier)
    values (${id}, ${iso}, 'local', ${area}, 'Sceneton', 'sceneton', 1, 1.5, 0.005, true, false, 'test')`
  await db.run`
    insert into numbers (number, group_id, shuffle)
    select n, ${id}, (random() * 2147483647)::integer from unnest(${numbers}::text[]) n`
  await db.run`insert into number_stock (group_id, free) values (${id}, ${count})`
  return numbers
}

export const sidOf = (who: Pick<Tenant, 'id'>): string => printSid('AC', who.id)
