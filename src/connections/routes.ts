import { X509Certificate } from 'node:crypto'
import { firstAccount } from '../accounts/ops.ts'
import type { CarrierState, LinkState } from '../connectors/port.ts'
import type { VoiceTrunkState } from '../connectors/voice-port.ts'
import type { Tx } from '../db/sql.ts'
import { ok, serve, serveOutside } from '../http/endpoint.ts'
import { conflict, invalid, notFound } from '../http/problem.ts'
import { checkFields } from '../http/unknown-fields.ts'
import { checkPart } from '../http/validation.ts'
import { iso } from '../lib/clock.ts'
import { parse, print, uuid } from '../lib/id.ts'
import { readNetwork } from '../lib/outbound-address.ts'
import { isCarrying } from '../msgapp/channels/ops.ts'
import { askForSync, openOrders } from '../numbers/ops.ts'
import type { Parts } from '../parts.ts'
import * as c from './contract.ts'
import { changes as changesOf, type Kind, kinds, type SettingsOf } from './kinds.ts'
import { opened, sealed } from './ops.ts'
import * as store from './store.ts'

const testSeconds = 10

/** `fatal` and `binds` are a carrier's, the rest is a trunk's. */
type Life = LinkState &
  Partial<Pick<CarrierState, 'fatal' | 'binds'>> &
  Partial<Pick<VoiceTrunkState, 'registered' | 'calls' | 'pingMs' | 'pingedAt'>>

const shownLink = (link: Omit<Life, 'binds'>) => ({
  state: link.state,
  since: iso(link.since),
  ...(link.lastError ? { last_error: link.lastError } : {}),
  fatal: link.fatal ?? false,
  in_flight: link.inFlight,
  submitted: link.submitted,
})

const shownState = (state: Life) => ({
  ...shownLink(state),
  ...(typeof state.registered === 'boolean' ? { registered: state.registered } : {}),
  ...(state.calls === undefined ? {} : { calls: state.calls }),
  ...(typeof state.pingMs === 'number' ? { ping_ms: state.pingMs } : {}),
  ...(typeof state.pingedAt === 'number' ? { pinged_at: iso(state.pingedAt) } : {}),
  ...(state.binds ? { binds: state.binds.map((one) => ({ bind: one.bind, ...shownLink(one) })) } : {}),
})

const unknown = (printed: string) => notFound(`No connection ${printed}`)
const idOf = (printed: string) => parse('CNX', printed) ?? unknown(printed)
const taken = (name: string) => conflict(`There is a connection named ${name} already`)

/** What no schema can tell of settings, all of them as they are to be. @throws Problem */
const checkSettings = (kind: Kind, settings: object) => {
  // The schema of their kind has checked them; what a kind does not have is absent.
  const {
    tls_ca: authority,
    allowed_addresses: networks,
    register,
    username,
    password,
  } = settings as Partial<SettingsOf['sip-trunk']>
  if (authority !== undefined && !areCertificates(authority))
    invalid(
      'settings.tls_ca must be a certificate in PEM, with its lines -----BEGIN CERTIFICATE----- and END, or several, and nothing else',
    )
  if (kind !== 'sip-trunk') return
  const wrong = networks?.find((text) => readNetwork(text) === null)
  if (wrong !== undefined)
    invalid(`settings.allowed_addresses: ${wrong} is neither an address nor a network such as 203.0.113.0/28`)
  const missing = username ? 'password' : 'username'
  if (register && !(username && password)) invalid(`settings.${missing} is required where settings.register is true`)
}

/** One certificate or several, with remarks between them, and nothing else: what is beside them would be shown as they are. */
const areCertificates = (pem: string): boolean => {
  // A remark, then of each: its first line, what it holds, its last line, a remark.
  const [, ...blocks] = pem.split('-----')
  return blocks.length > 0 && blocks.length % 4 === 0 && blocks.every((part, i) => isPart[i % 4]?.(part))
}

const isPart: readonly ((part: string) => boolean)[] = [
  (part) => part === 'BEGIN CERTIFICATE',
  (part) => isCertificate(`-----BEGIN CERTIFICATE-----${part}-----END CERTIFICATE-----\n`),
  (part) => part === 'END CERTIFICATE',
  () => true,
]

const isCertificate = (pem: string): boolean => {
  try {
    return new X509Certificate(pem).subject !== undefined
  } catch {
    return false
  }
}

type Fields = Readonly<Record<string, unknown>>

const omit = (fields: Fields, names: readonly string[]): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)))

/** Settings of a change: those with a value, and the names of those that null clears. */
const split = (settings: Fields): { given: Fields; cleared: string[] } => {
  const cleared = Object.keys(settings).filter((name) => settings[name] === null)
  return { given: omit(settings, cleared), cleared }
}

type Links = {
  state(id: string): Life | null
  test(id: string): Promise<{ working: boolean; message: string }>
}

export const connectionRoutes = ({ db, seal, changes, carriers, suppliers, networks, voice }: Parts) => {
  /** Who runs the connections of a kind. */
  const links: { readonly [K in Kind]: Links } = {
    smpp: {
      state: carriers.state,
      test: async (id) => {
        const state = await carriers.settled(id, testSeconds)
        if (!state) return { working: false, message: 'no process with the role worker runs it here' }
        return { working: state.state === 'bound', message: state.lastError ?? state.state }
      },
    },
    didww: suppliers,
    sandbox: networks,
    xmpp: networks,
    'sip-trunk': voice,
    'whatsapp-cloud': networks,
    'whatsapp-web': networks,
  }

  /** After every change of a connection, in its transaction. */
  const changed = async (tx: Tx, { id, kind }: Pick<store.ConnectionRow, 'id' | 'kind'>) => {
    if (kind === 'didww') await askForSync(tx, id)
    await changes.announce(tx, 'connections')
  }

  /** Tenants put numbers on messaging networks, by the connection that they name; routing alone uses the others. */
  const isNamedByTenants = (kind: Kind): boolean => links[kind] === networks

  type Access = { shared?: boolean | undefined; account_uuids?: readonly string[] | undefined }

  const checkAccess = (kind: Kind, { shared, account_uuids }: Access) => {
    if ((shared !== undefined || account_uuids !== undefined) && !isNamedByTenants(kind))
      invalid(`shared and account_uuids are for messaging networks: tenants do not choose a connection of kind ${kind}`)
  }

  /** Gives these accounts, and no others, access to a connection. @returns it */
  const assign = async (tx: Tx, row: store.ConnectionRow, printed: readonly string[] | undefined) => {
    if (!printed) return row
    const unknownAccount = (one: string) => notFound(`No account ${one}`)
    const accounts = printed.map((one) => parse('ACC', one) ?? unknownAccount(one))
    const known = await store.assign(tx, row.id, accounts)
    for (const one of accounts) if (!known.has(one)) unknownAccount(print('ACC', one))
    return { ...row, accounts: [...known].sort() }
  }

  const access = (row: store.ConnectionRow) =>
    isNamedByTenants(row.kind)
      ? { shared: row.shared, account_uuids: row.accounts.map((one) => print('ACC', one)) }
      : {}

  /** The audited fields, secrets included: the audit trail masks them and still shows that one changed. */
  const audited = (row: store.ConnectionRow) => ({
    kind: row.kind,
    name: row.name,
    enabled: row.enabled,
    settings: opened(row, seal),
    ...access(row),
  })

  const shown = (row: store.ConnectionRow) => {
    const state = links[row.kind].state(row.id)
    return {
      uuid: print('CNX', row.id),
      kind: row.kind,
      name: row.name,
      settings: row.settings,
      enabled: row.enabled,
      ...access(row),
      ...(state ? { state: shownState(state) } : {}),
      created_at: iso(row.created_at),
      updated_at: iso(row.updated_at),
    }
  }

  return [
    serve(c.createConnection, async ({ body, tx, audit }) => {
      const { kind, name, settings, enabled = true, shared = false } = body
      checkSettings(kind, settings)
      checkAccess(kind, body)
      const content = { name, enabled, shared, ...sealed(kind, settings, seal) }
      const made = (await store.create(tx, uuid(), kind, content)) ?? taken(name)
      const isOpen = !isNamedByTenants(kind) || body.shared !== undefined || body.account_uuids !== undefined
      const first = isOpen ? null : await firstAccount(tx)
      const row = await assign(tx, made, first === null ? body.account_uuids : [print('ACC', first)])
      await audit(tx, { target: print('CNX', row.id), after: audited(row) })
      await changed(tx, row)
      return ok({ connection: shown(row) })
    }),

    serve(c.listConnections, async () => ok({ connections: (await store.all(db)).map(shown) })),

    serve(c.getConnection, async ({ params }) => {
      const row = await store.find(db, idOf(params.connection_uuid))
      return ok({ connection: shown(row ?? unknown(params.connection_uuid)) })
    }),

    serve(c.changeConnection, async ({ params, body, request, tx, audit }) => {
      const row = (await store.lock(tx, idOf(params.connection_uuid))) ?? unknown(params.connection_uuid)
      const { name = row.name, enabled = row.enabled, shared = row.shared } = body
      checkAccess(row.kind, body)
      if (await store.isTaken(tx, name, row.id)) taken(name)
      const { given, cleared } = split(body.settings ?? {})
      checkFields(changesOf[row.kind], body.settings, ['settings'])
      checkPart(request, changesOf[row.kind], given, 'settings')
      const settings = omit({ ...opened(row, seal), ...given }, cleared)
      // A setting that the kind requires cannot be cleared.
      if (cleared.length > 0) checkPart(request, kinds[row.kind].settings, settings, 'settings')
      if (body.settings) checkSettings(row.kind, settings)
      const content = sealed(row.kind, settings, seal)
      const isOther = name !== row.name || enabled !== row.enabled || body.settings !== undefined
      if (isOther) await store.change(tx, row.id, { name, enabled, ...content })
      await store.share(tx, row.id, shared)
      const current = (await store.find(tx, row.id)) ?? unknown(params.connection_uuid)
      const after = await assign(tx, current, body.account_uuids)
      const isNarrower = (row.shared && !shared) || body.account_uuids !== undefined
      if (isNarrower && !shared && (await isCarrying(tx, row.id, after.accounts)))
        conflict(
          `${row.name} carries channels of accounts that account_uuids leaves out: delete those channels first`,
          'channels_open',
        )
      await audit(tx, { before: audited(row), after: audited(after) })
      await changed(tx, after)
      return ok({ connection: shown(after) })
    }),

    serve(c.deleteConnection, async ({ params, tx, audit }) => {
      const row = (await store.lock(tx, idOf(params.connection_uuid))) ?? unknown(params.connection_uuid)
      const open = await openOrders(tx, row.id)
      if (open > 0)
        conflict(
          `${open} orders at ${row.name} have not ended: wait for them, or disable the connection meanwhile`,
          'orders_open',
        )
      if (await isCarrying(tx, row.id))
        conflict(`${row.name} carries numbers of the messaging app: delete those channels first`, 'channels_open')
      await store.remove(tx, row.id)
      await audit(tx, { before: audited(row) })
      await changed(tx, row)
      return ok({})
    }),

    serveOutside(c.testConnection, async ({ params, audit }) => {
      const row = (await store.find(db, idOf(params.connection_uuid))) ?? unknown(params.connection_uuid)
      const { working, message } = row.enabled
        ? await links[row.kind].test(row.id)
        : { working: false, message: 'the connection is not enabled' }
      await audit(null, { after: { working } })
      return ok({ working, message })
    }),
  ]
}
