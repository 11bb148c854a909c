import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { freePort } from '../counterparts/program.ts'
import { buyNumber, homeOnDisk, type Platform, startPlatform, until } from '../platform.ts'

/**
 * Trunkline as the carrier of Trunkline: the driver `twilio` of one installation speaks to the interface in Twilio's shape
 * of another one, while both are killed in turn at random instants. Short form here, with one kill of each;
 * `npm run chaos` sends 1,000 messages over 20 kills.
 */
const long = process.env.TRUNKLINE_TEST_LONG === '1'
const kills = long ? 20 : 2
const messages = long ? 1_000 : 60
const senders = 4
/** Requests that may be under way when a process is killed: the window of the connection. */
const window = 10
/** Seconds until the last receipt: a lost answer waits 60 s for it before the message is sent again. */
const patience = 240

const seed = Number(process.env.TRUNKLINE_TEST_SEED ?? Date.now() % 1_000_000)
let state = seed
const chance = () => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
  return state / 2 ** 32
}

/** An installation that is found at the same address after each kill: receipts name the address of the submit. */
type Site = { platform: Platform; readonly env: Record<string, string> }

const startSite = async (): Promise<Site> => {
  const port = String(await freePort())
  const env = {
    ...{ TRUNKLINE_PORT: port, TRUNKLINE_PUBLIC_URL: `http://127.0.0.1:${port}` },
    ...{ TRUNKLINE_ALLOW_PRIVATE_HOOKS: 'true', TRUNKLINE_ALLOW_HTTP_HOOKS: 'true', TRUNKLINE_SANDBOX: 'true' },
  }
  const site = { platform: await startPlatform(homeOnDisk(), env), env }
  after(() => site.platform.end('SIGKILL'))
  const { account } = (await site.platform.call('GET', '/open/info')).body
  const path = `/operator/accounts/${account.uuid}`
  await site.platform.call('PATCH', path, { requests_per_minute: 1_000_000 })
  await site.platform.call('POST', `${path}/credit`, { amount: '10000' })
  return site
}

const killSite = async (site: Site): Promise<void> => {
  assert.equal(await site.platform.end('SIGKILL'), 'SIGKILL')
  site.platform = await startPlatform(site.platform.home, site.env)
}

const [customer, carrier] = [await startSite(), await startSite()]

// Both sandboxes sell the same numbers.
const { number } = await buyNumber(carrier.platform)
const bought = await customer.platform.call('POST', '/open/numbers/purchase', { number })
assert.equal(bought.status, 201, JSON.stringify(bought.body))

const { account_sid, auth_token } = (await carrier.platform.call('POST', '/open/compat/credentials')).body
const created = await customer.platform.call('POST', '/operator/connections', {
  ...{ kind: 'sms-http', name: 'the other one' },
  settings: {
    ...{ provider: 'twilio', base_url: carrier.platform.url, account_sid, auth_token, prefixes: ['44'], window },
    response_seconds: 5,
  },
})
assert.equal(created.status, 201, JSON.stringify(created.body))
const connection: string = created.body.connection.uuid

/** Sends messages to a handset, each until it is accepted, while both processes are killed in turn. */
const sendOverKills = async (handset: string): Promise<string[]> => {
  const accepted: string[] = []
  let next = 0
  const send = async () => {
    while (next < messages) {
      const text = `message ${next++} to ${handset}`
      const body = { from_number: number, to_number: handset, text }
      const answer = await until(async () => {
        const one = await customer.platform
          .call('POST', '/open/sms/send', body, { 'idempotency-key': text })
          .catch(() => null)
        if (one && one.status < 500 && one.status !== 202) assert.fail(JSON.stringify(one))
        return one?.status === 202 && one
      })
      accepted.push(answer.body.message_uuid)
    }
  }
  const load = Array.from({ length: senders }, send)
  for (let kill = 0; kill < kills; kill++) {
    const enough = Math.floor(((kill + 0.3 + chance() * 0.5) * messages) / kills)
    await until(async () => accepted.length >= enough)
    await killSite(kill % 2 === 0 ? carrier : customer)
  }
  await Promise.all(load)
  return accepted
}

/** Counts the final statuses of messages, once each has one. */
const finalStatuses = async (uuids: readonly string[]): Promise<Map<string, number>> => {
  const counts = new Map<string, number>()
  for (const uuid of uuids) {
    const status: string = await until(async () => {
      const { message } = (await customer.platform.call('GET', `/open/sms/message/${uuid}`)).body
      return ['delivered', 'undelivered', 'failed', 'unknown'].includes(message.status) && message.status
    }, patience)
    counts.set(status, (counts.get(status) ?? 0) + 1)
  }
  return counts
}

const countTexts = (list: readonly { readonly text: string }[]): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>()
  for (const { text } of list) counts.set(text, (counts.get(text) ?? 0) + 1)
  return counts
}

/**
 * Returns how often the carrier took each text. The connection between the two installations can double no other: behind
 * it the carrier's own connection to its SMSC, which is SMPP with the policy `resubmit`, may submit a message again after
 * a kill of the carrier, and the handset then gets one message of the carrier twice.
 */
const taken = async (handset: string): Promise<ReadonlyMap<string, number>> => {
  const path = `/2010-04-01/Accounts/${account_sid}/Messages.json?${new URLSearchParams({ To: handset, PageSize: '1000' })}`
  const messages: { text: string }[] = []
  for (let next: string | null = path; next !== null; ) {
    const answer: Response = await fetch(carrier.platform.url + next, {
      headers: { authorization: `Basic ${Buffer.from(`${account_sid}:${auth_token}`).toString('base64')}` },
    })
    assert.equal(answer.status, 200)
    const page = Object(await answer.json())
    messages.push(...page.messages.map(({ body }: { body: string }) => ({ text: body })))
    next = page.next_page_uri
  }
  return countTexts(messages)
}

/** Returns how often each text reached the handset at the carrier. */
const arrivals = async (handset: string): Promise<ReadonlyMap<string, number>> =>
  countTexts((await carrier.platform.call('GET', `/sandbox/handsets/${handset}`)).body.sms)

/** Counts the texts that the handset got twice, for any reason. */
const behind = (arrived: ReadonlyMap<string, number>): number =>
  [...arrived.values()].filter((count) => count > 1).length

const doubledIn = (counts: ReadonlyMap<string, number>): number => {
  assert.ok(Math.max(...counts.values()) <= 2, 'no text is taken three times')
  return [...counts.values()].filter((count) => count > 1).length
}

test(`messages over another Trunkline all arrive over ${kills} kills of both, with receipts (seed ${seed})`, async () => {
  const handset = '+447700900151'
  const uuids = await sendOverKills(handset)
  assert.deepEqual([...(await finalStatuses(uuids))], [['delivered', messages]])
  const counts = await arrivals(handset)
  assert.equal(counts.size, messages, 'none is lost')
  const doubled = doubledIn(await taken(handset))
  assert.ok(doubled <= kills * window, `${doubled} were taken twice`)
  console.log(
    `${messages} messages, ${kills} kills, 0 lost, ${doubled} taken twice, ${behind(counts)} doubled behind, seed ${seed}`,
  )
})

test('with at_most_once none is taken twice, and those that may be lost end as unknown', async () => {
  const changed = await customer.platform.call('PATCH', `/operator/connections/${connection}`, {
    settings: { policy: 'at_most_once' },
  })
  assert.equal(changed.status, 200, JSON.stringify(changed.body))
  const handset = '+447700900152'
  const uuids = await sendOverKills(handset)
  const statuses = await finalStatuses(uuids)
  const { delivered = 0, unknown = 0 } = Object.fromEntries(statuses)
  assert.equal(delivered + unknown, messages, JSON.stringify([...statuses]))
  const counts = await taken(handset)
  assert.equal(doubledIn(counts), 0)
  assert.ok(counts.size >= delivered)
  const arrived = await arrivals(handset)
  assert.ok(arrived.size >= delivered)
  console.log(
    `${messages} messages, ${kills} kills, ${unknown} unknown, ${messages - counts.size} lost, 0 taken twice, ` +
      `${behind(arrived)} doubled behind`,
  )
})
