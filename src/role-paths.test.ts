import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld, type World } from '../test/world.ts'
import { compatContracts, contracts } from './contracts.ts'

const roles = ['worker', 'voice', 'console'] as const
const worlds = new Map<string, World>()
for (const role of roles) worlds.set(role, await makeWorld({}, { roles: [role] }))

/** The error code of each answer, by path. */
const codesOf = async (role: string, requests: readonly (readonly ['GET' | 'POST', string])[]) => {
  const world = worlds.get(role)
  assert.ok(world)
  const codes = new Map<string, string>()
  for (const [method, url] of requests) {
    const { status, body } = await world.call(null, method, url)
    // In the shape of Twilio the code of every 503 is the same.
    const code = body?.code === 20503 ? 'role_not_here' : body?.error_code
    codes.set(url, status === 503 ? code : 'served')
  }
  return codes
}

const others = [
  ['GET', '/'],
  ['GET', '/docs'],
  ['GET', '/openapi.json'],
  ['GET', '/media/MSG1'],
  ['GET', '/recordings/CDR1.wav'],
  ['GET', '/unknown'],
] as const

for (const role of roles)
  test(`a process with the role ${role} alone serves what the role needs, and names the role for everything else`, async () => {
    const isOwn = (url: string) => role === 'console' && url.startsWith('/console/')
    const requests = [...contracts, ...compatContracts].map(
      ({ method, url }) => [method === 'GET' ? 'GET' : 'POST', url] as const,
    )
    const own = new Set(['/ping', '/healthz', '/readyz'])
    for (const [url, code] of await codesOf(role, [...requests, ...others]))
      if (!own.has(url) && !isOwn(url)) assert.equal(code, 'role_not_here', url)
    const health = [...own, '/metrics'].map((url) => ['GET', url] as const)
    for (const [url, code] of await codesOf(role, health)) assert.equal(code, 'served', url)
    const callbacks = ['/callbacks/sms/CNX1', '/callbacks/msgapp/CNX1', '/callbacks/didww/CNX1']
    for (const [url, code] of await codesOf(
      role,
      callbacks.map((url) => ['POST', url] as const),
    ))
      assert.equal(code, role === 'worker' ? 'served' : 'role_not_here', url)
    const { body } = (await worlds.get(role)?.call(null, 'GET', '/open/info')) ?? { body: {} }
    assert.match(body.error_message, /does not have the role api.*TRUNKLINE_ROLES/)
  })

test('only the processes of its role open the socket of browsers and the one of the console', async () => {
  const answer = (role: string, url: string) => worlds.get(role)?.call(null, 'GET', url)
  assert.match((await answer('worker', '/voice'))?.body.error_message, /does not have the role api or voice/)
  assert.match((await answer('voice', '/console/live'))?.body.error_message, /does not have the role api or console/)
})
