import assert from 'node:assert/strict'
import { after } from 'node:test'
import pino from 'pino'
import { setUpSandboxChat } from '../../src/bootstrap.ts'
import { issueKey } from '../../src/domains/accounts/ops.ts'
import { makeInboundHandlers } from '../../src/domains/msgapp/inbound.ts'
import { makeOperations } from '../../src/domains/msgapp/operations/operations.ts'
import { makeSimulatorClient } from '../../src/domains/sandbox/simulator-client.ts'
import { type SimulatorProcess, startSimulator } from '../../src/domains/sandbox/simulator-process.ts'
import type { TestDatabase } from '../database.ts'
import { mailSettings } from '../mailed.ts'
import { until } from '../platform.ts'
import { putPrices } from '../prices.ts'
import { temporaryFolder } from '../servers.ts'
import { makeWorld, type Tenant, type World } from '../world.ts'

/** A WAV file of 16 samples in ASCII: 8 bits, 8,000 Hz. */
export const shortWav = `RIFF4\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x40\x1f\0\0\x01\0\x08\0data\x10\0\0\0${'@'.repeat(16)}`

/** The group of numbers that recipes buy from. */
export const group = { id: 'GB-local-20-london', name: 'Sceneton', free: 8000, region: 44, city: 4401 }

/** The regulatory requirement of that group: an address, proved by a document. */
export const requirement = 1

/** A country with one region, one city, one requirement and one group of numbers. */
const furnish = async ({ db, call, parts }: World) => {
  await db.run`insert into number_countries values ('GB', 'United Kingdom', '44'), ('US', 'United States', '1')`
  await db.run`
    insert into number_regions (id, iso_country_code, code, name, folded)
    values (${group.region}, 'GB', 'SCN', 'Sceneshire', 'sceneshire')`
  await db.run`
    insert into number_cities (id, iso_country_code, region_id, name, folded)
    values (${group.city}, 'GB', ${group.region}, ${group.name}, 'sceneton')`
  await db.run`
    insert into number_requirements (id, iso_country_code, type, kind, description, documents, source, source_date)
    values (${requirement}, 'GB', 'local', 'address', 'An address', ${['bill']}, 'test', '2026-01-01')`
  for (const [id, chosen] of [
    [group.id, true],
    ['GB-local-1632-blind', false],
  ] as const)
    await db.run`
      insert into number_groups (id, iso_country_code, type, prefix, location, region_id, city_id, folded, setup_price,
        monthly_price, ppm, allow_number_selection, is_eligible_for_free_number, supplier)
      values (${id}, 'GB', 'local', '1632', ${group.name}, ${group.region}, ${group.city}, 'sceneton', 1, 1.5, 0.005,
        ${chosen}, false, 'test')`
  await db.run`
    insert into numbers (number, group_id, shuffle)
    select '+441632' || (100000 + n), ${group.id}, (random() * 2147483647)::integer
    from generate_series(1, ${group.free}::integer) n`
  await db.run`insert into number_stock (group_id, free) values (${group.id}, ${group.free}), ('GB-local-1632-blind', 0)`
  await setPrices({ call, parts })
}

/** Sets prices of messages and calls for all destinations. */
export const setPrices = (world: Pick<World, 'call' | 'parts'>): Promise<void> =>
  putPrices(
    world,
    (['sms_out', 'call_out'] as const).map((kind) => ({ kind, prefix: '', price: '0.05' })),
  )

/** An installation in which every endpoint can succeed: a catalogue, prices, and sandbox carriers. */
export const makeRecipeWorld = async (
  options: { log?: pino.Logger; db?: TestDatabase } = {},
): Promise<World & { carrier: SimulatorProcess }> => {
  const carrier = await startSimulator(temporaryFolder(), { smpp: 0, sip: 0 }, pino({ level: 'silent' }))
  const simulator = makeSimulatorClient(() => ({ port: carrier.controlPort, token: carrier.token }))
  const world = await makeWorld(
    { TRUNKLINE_SANDBOX: 'true', ...mailSettings },
    {},
    // Passkeys work at a name only.
    { simulator, pace: { graceMs: 1_000, windowMs: 500 }, publicUrl: () => 'http://localhost:8080', ...options },
  )
  after(carrier.stop)
  await furnish(world)
  const { parts } = world
  await setUpSandboxChat(parts, carrier)
  await parts.networks.start({ acts: makeOperations(parts), intake: makeInboundHandlers(parts) })
  return { ...world, carrier }
}

/**
 * A tenant for recipes, with makers of things that belong to it. Every call makes a new thing, through the API where
 * possible.
 */
export type Scene = {
  readonly world: World
  readonly tenant: Tenant
  /** Part of every string that the scene writes. */
  readonly mark: string
  user(): Promise<string>
  key(): Promise<string>
  connection(): Promise<string>
  /** A bought number with its SMS channel. */
  number(): Promise<{ uuid: string; number: string; channel: string }>
  /** An accepted message from a number of the tenant. */
  message(more?: { send_at?: string }): Promise<{ uuid: string; channel: string; from: string; to: string }>
  reservation(): Promise<{ uuid: string; number: string }>
  /** A bought number that the operator has suspended. */
  suspended(): Promise<string>
  /** An import of a number of the operator's own. */
  imported(): Promise<string>
  /** An uploaded document. */
  document(): Promise<string>
  /** An uploaded sound. */
  clip(): Promise<string>
  /** A number with a document that satisfies its regulatory requirement. */
  registration(): Promise<{ number: string; document: string }>
  contact(): Promise<string>
  webhook(): Promise<string>
  /** A number that no messaging channel uses. */
  chatNumber(): string
  /** A connected channel of the messaging app. */
  chat(number?: string): Promise<string>
  /** A channel that waits for a phone to scan its code. */
  pairingChat(): Promise<string>
  /** The test delivery of a webhook. */
  delivery(): Promise<string>
}

let own = 0
/** A file with one number that no other file has. */
export const ownNumber = (): string =>
  `number,country,type,monthly_price\n+4416328${String(++own).padStart(5, '0')},GB,local,1.50\n`

/** Numbers that do not end like a magic number. */
let chats = 1_000

/** Waits until a channel has this status. */
const phaseOf = async ({ db }: World, printed: string, phase: string): Promise<void> => {
  await until(() => db.maybe`select 1 from msgapp_links where channel_id = ${printed.slice(3)} and phase = ${phase}`)
}

let made = 0
/** A string that equals no other one. */
export const unique = (mark: string): string => `${mark} ${++made}`

export const makeScene = async (world: World, mark: string, given?: Tenant): Promise<Scene> => {
  const tenant = given ?? (await world.tenant({ balance: '1000000' }))
  const must = async (who: Tenant | 'operator', method: 'GET' | 'POST' | 'PUT', url: string, body?: object) => {
    const answer = await world.call(who, method, url, body)
    assert.ok(answer.status < 300, `${method} ${url}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  const account = `/operator/accounts/${tenant.uuid}`
  const channelOf = async (number: string): Promise<string> => {
    const { channels } = await must(tenant, 'GET', '/open/sms/channels')
    return channels.find((one: { phone_number: string }) => one.phone_number === number).uuid
  }

  const scene: Scene = {
    world,
    tenant,
    mark,
    user: async () => {
      const email = `${unique('user').replace(' ', '.')}.${mark}@example.com`
      const user = { first_name: unique(mark), last_name: mark, email }
      return (await must('operator', 'POST', `${account}/users`, user)).user.uuid
    },
    key: async () => (await world.db.begin((tx) => issueKey(tx, tenant.id, unique(mark)))).uuid,
    connection: async () => {
      const settings = { host: '127.0.0.1', port: 9, system_id: mark.slice(0, 15), password: `${mark}-password` }
      const body = { kind: 'smpp', name: unique(mark), settings, enabled: false }
      return (await must('operator', 'POST', '/operator/connections', body)).connection.uuid
    },
    number: async () => {
      const body = { group_id: group.id, friendly_name: unique(mark) }
      const { data } = await must(tenant, 'POST', '/open/numbers/purchase', body)
      const { uuid, phone_number: number } = data.numbers[0]
      return { uuid, number, channel: await channelOf(number) }
    },
    message: async (more = {}) => {
      const { number: from, channel } = await scene.number()
      const to = '+447700900123'
      // The fuzzer opts contacts out.
      await world.db.run`delete from sms_opt_outs where account_id = ${tenant.id} and contact = ${to}`
      const body = { from_number: from, to_number: to, text: unique(mark), ...more }
      return { uuid: (await must(tenant, 'POST', '/open/sms/send', body)).message_uuid, channel, from, to }
    },
    document: async () => {
      const answer = await world.app.inject({
        method: 'POST',
        url: `/open/numbers/documents?kind=address&name=${encodeURIComponent(unique(mark))}`,
        headers: { 'x-user-api-key': tenant.key, 'content-type': 'application/pdf' },
        payload: `%PDF-1.7 ${mark}`,
      })
      assert.equal(answer.statusCode, 201, answer.body)
      return answer.json().document.uuid
    },
    clip: async () => {
      const answer = await world.app.inject({
        method: 'POST',
        url: `/open/voip/clips?name=${encodeURIComponent(unique(mark))}`,
        headers: { 'x-user-api-key': tenant.key, 'content-type': 'audio/wav' },
        payload: shortWav,
      })
      assert.equal(answer.statusCode, 201, answer.body)
      return answer.json().clip.uuid
    },
    registration: async () => {
      const [{ uuid: number }, document] = [await scene.number(), await scene.document()]
      const given = { requirements: [{ requirement_id: requirement, document_uuid: document }] }
      await must(tenant, 'PUT', `/open/voip/virtual-numbers/${number}/requirements`, given)
      return { number, document }
    },
    suspended: async () => {
      const { uuid } = await scene.number()
      await must('operator', 'POST', `/operator/numbers/${uuid}/suspend`, { reason: mark })
      return uuid
    },
    imported: async () => {
      const headers = { 'x-operator-key': world.operatorKey, 'content-type': 'text/csv' }
      const file = { method: 'POST', url: '/operator/inventory/import', headers, payload: ownNumber() } as const
      const answer = await world.app.inject(file)
      assert.equal(answer.statusCode, 201, answer.body)
      return answer.json().import_uuid
    },
    reservation: async () => {
      const { data } = await must(tenant, 'POST', '/open/numbers/reservations', { group_id: group.id })
      const { uuid, number } = data.reservation_details
      return { uuid, number }
    },
    contact: async () => {
      const details = [{ type: 'E', value: `${unique('ada').replace(' ', '.')}.${mark}@example.com` }]
      const body = { first_name: unique(mark), last_name: mark, contact_details: details }
      return (await must(tenant, 'POST', '/open/contacts', body)).contact.uuid
    },
    webhook: async () => {
      const body = { hook_url: `http://127.0.0.1:1024/${encodeURIComponent(unique(mark))}` }
      return (await must(tenant, 'POST', '/open/webhooks/subscribe/contact.created', body)).data.uuid
    },
    chatNumber: () => `+4477009${++chats}8`,
    chat: async (phone_number = scene.chatNumber()) => {
      const body = { phone_number, friendly_name: mark }
      const { uuid } = (await must(tenant, 'POST', '/open/msgapp/channel/create', body)).channel
      await phaseOf(world, uuid, 'connected')
      return uuid
    },
    pairingChat: async () => {
      const phone_number = scene.chatNumber()
      await must(tenant, 'PUT', `/sandbox/handsets/${phone_number}`, { pairing: true })
      const { uuid } = (await must(tenant, 'POST', '/open/msgapp/channel/create', { phone_number })).channel
      await phaseOf(world, uuid, 'pairing')
      return uuid
    },
    delivery: async () => {
      await scene.contact()
      return (await must(tenant, 'POST', `/open/webhooks/${await scene.webhook()}/test`)).delivery_id
    },
  }
  return scene
}
