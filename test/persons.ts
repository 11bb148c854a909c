import assert from 'node:assert/strict'
import type { InjectOptions } from 'fastify'
import { newClaimLink } from '../src/domains/persons/ops.ts'
import type { Answer, Tenant, World } from './world.ts'

/** A browser with a session. */
export type Browser = {
  readonly cookie: string
  /** The reply of the sign-in. */
  readonly boot: Answer['body']
  call(method: InjectOptions['method'], url: string, body?: object, headers?: Record<string, string>): Promise<Answer>
}

const answerOf = async (world: Pick<World, 'app'>, options: InjectOptions): Promise<Answer> => {
  const answer = await world.app.inject(options)
  const isJson = String(answer.headers['content-type']).startsWith('application/json')
  return { status: answer.statusCode, body: isJson ? answer.json() : answer.body, headers: answer.headers }
}

/** Calls an endpoint as the console does: with its header, and the cookie of a session. */
export const callAs = (
  world: Pick<World, 'app'>,
  cookie: string | null,
  method: InjectOptions['method'],
  url: string,
  body?: object,
  headers: Record<string, string> = {},
): Promise<Answer> =>
  answerOf(world, {
    method: method ?? 'GET',
    url,
    headers: { 'x-trunkline-console': '1', ...(cookie === null ? {} : { cookie }), ...headers },
    ...(body ? { payload: body } : {}),
  })

/** Returns the cookie that a reply sets, as a browser sends it. */
export const cookieOf = ({ headers }: Pick<Answer, 'headers'>): string =>
  String(headers['set-cookie']).split(';')[0] ?? ''

const browserOf = (world: Pick<World, 'app'>, opened: Answer): Browser => {
  assert.equal(opened.status, 201, JSON.stringify(opened.body))
  const cookie = cookieOf(opened)
  return { cookie, boot: opened.body, call: (...rest) => callAs(world, cookie, ...rest) }
}

export const goodPassword = 'seven green boats sail'

/** Signs in with a password or key. */
export const signIn = async (world: Pick<World, 'app'>, body: object): Promise<Browser> =>
  browserOf(world, await callAs(world, null, 'POST', '/console/session', body))

/** Returns the token of a link. */
export const tokenOf = (url: string): string => url.slice(url.indexOf('#') + 1)

/** Returns the token of a new claim link, of an installation that may be claimed again. */
export const freshClaim = async ({ db }: Pick<World, 'db'>): Promise<string> => {
  await db.run`delete from installation_state where name = 'console-claimed'`
  return tokenOf((await newClaimLink(db, 'http://127.0.0.1:8080', null)) ?? assert.fail('the installation is claimed'))
}

/** Makes the first person. */
export const claim = async (
  world: Pick<World, 'app' | 'db'>,
  email: string,
  name = 'Olive Operator',
): Promise<Browser> => {
  const body = { token: await freshClaim(world), name, email, password: goodPassword }
  return browserOf(world, await callAs(world, null, 'POST', '/console/claim', body))
}

/** Sends the token of a link with other fields, as the page of an invitation does. */
export const acceptLink = (world: Pick<World, 'app'>, url: string, body: object): Promise<Answer> =>
  callAs(world, null, 'POST', '/console/invitations/accept', { token: tokenOf(url), ...body })

/** Accepts an invitation. */
export const accept = async (world: Pick<World, 'app'>, url: string, password = goodPassword): Promise<Browser> =>
  browserOf(world, await acceptLink(world, url, { password }))

let members = 0

/** Makes a member of an account and signs the person in. */
export const member = async (
  world: Pick<World, 'app' | 'call'>,
  tenant: Tenant,
  role: string,
  email = `member.${++members}@example.com`,
): Promise<Browser & { readonly email: string; readonly user: string }> => {
  const body = { first_name: 'Mia', last_name: role, email, role, delivery: 'link' }
  const made = await world.call(tenant, 'POST', '/open/members', body)
  assert.equal(made.status, 201, JSON.stringify(made.body))
  return { ...(await accept(world, made.body.invite_url)), email, user: made.body.member.uuid }
}
