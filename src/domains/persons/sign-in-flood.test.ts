import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import { after, test } from 'node:test'
import { goodPassword, tokenOf } from '../../../test/persons.ts'
import { startPlatform } from '../../../test/platform.ts'
import { isQuick } from '../../../test/quick.ts'

// 150 sockets try wrong passwords without a pause. A sign-in takes at most ten times its time alone, measured in the same
// run: each time the person and the attackers are the only clients of a process of its own.

const platform = await startPlatform()
after(() => platform.end())
const { port } = new URL(platform.url)
const email = 'hanna@example.com'
const sockets = 150

const post = async (
  localAddress: string,
  path: string,
  body: object,
  { cookie, signal }: { readonly cookie?: string | undefined; readonly signal?: AbortSignal } = {},
) => {
  const pending = request({
    host: '127.0.0.1',
    port,
    localAddress,
    path,
    method: 'POST',
    agent: false,
    headers: { 'content-type': 'application/json', 'x-trunkline-console': '1', ...(cookie ? { cookie } : {}) },
    ...(signal ? { signal } : {}),
  })
  pending.end(JSON.stringify(body))
  const [answer] = await once(pending, 'response')
  await answer.toArray()
  const marks = (answer.headers['set-cookie'] ?? []).map((line: string) => line.split(';', 1)[0])
  return { status: answer.statusCode, mark: marks.find((pair: string) => pair.startsWith('trunkline-browser=')) }
}

let addresses = 0
/** An address from which no request came yet. */
const newAddress = (): string => {
  addresses++
  return `127.${10 + (addresses >> 16)}.${(addresses >> 8) & 255}.${addresses & 255}`
}

const home = newAddress()

/** Signs in. @returns the milliseconds that it took */
const signIn = async (from: string, cookie?: string): Promise<number> => {
  const began = performance.now()
  const { status } = await post(from, '/console/session', { email, password: goodPassword }, { cookie })
  assert.equal(status, 201)
  return performance.now() - began
}

const member = { first_name: 'Hanna', last_name: 'Home', email, role: 'agent' }
const invited = await platform.call('POST', '/open/members', member)
const token = tokenOf(invited.body.invite_url)
const { status, mark } = await post(home, '/console/invitations/accept', { token, password: goodPassword })
assert.equal(status, 201)

/** Attackers by how they spread, and the visits that stay quick. */
const floods = [
  {
    name: 'on many e-mail addresses, from 150 addresses',
    address: (i: number) => `127.200.0.${i + 1}`,
    target: (i: number, n: number) => `victim.${i}.${n}@example.com`,
    visits: { 'from a clean address': () => signIn(newAddress()) },
  },
  {
    name: 'on the very e-mail address, from 150 addresses',
    address: (i: number) => `127.201.0.${i + 1}`,
    target: () => email,
    visits: {
      'from a clean address': () => signIn(newAddress()),
      'in a known browser': () => signIn(newAddress(), mark),
    },
  },
  {
    name: 'on many e-mail addresses, each time from a new address',
    address: newAddress,
    target: (i: number, n: number) => `target.${i}.${n}@example.com`,
    visits: {
      'from a network of the person': () => signIn(home),
      'in a known browser': () => signIn(newAddress(), mark),
    },
  },
]

/** Runs an act while the sockets try wrong passwords, once each of them has begun. */
const during = async ({ address, target }: (typeof floods)[number], act: () => Promise<void>): Promise<void> => {
  const end = new AbortController()
  const attack = async (i: number) => {
    for (let n = 0; !end.signal.aborted; n++) {
      const body = { email: target(i, n), password: 'a wrong password' }
      await post(address(i), '/console/session', body, { signal: end.signal }).catch(() => {})
    }
  }
  // The first answer comes when the others wait.
  const attacks = Array.from({ length: sockets }, (_, i) => attack(i))
  await post(newAddress(), '/console/session', { key: 'no key at all, of 20 characters' })
  try {
    await act()
  } finally {
    end.abort()
    await Promise.all(attacks)
  }
}

for (const flood of floods)
  test(`150 sockets that try wrong passwords ${flood.name}, delay a sign-in at most tenfold`, async () => {
    const alone = [await signIn(home), await signIn(home), await signIn(home)].toSorted((a, b) => a - b)
    const most = 10 * (alone[1] ?? 0)
    await during(flood, async () => {
      for (const visit of Object.values(flood.visits)) await isQuick(most, visit)
    })
  })
