import { X509Certificate } from 'node:crypto'
import type { Tx } from '../../platform/db/sql.ts'
import { ok, route, routeWithoutTransaction } from '../../platform/http/endpoint.ts'
import { refuse } from '../../platform/http/problem.ts'
import { checkFields } from '../../platform/http/unknown-fields.ts'
import { validatePart } from '../../platform/http/validation.ts'
import { iso } from '../../platform/lib/clock.ts'
import { parse, print, uuid } from '../../platform/lib/id.ts'
import { readNetwork } from '../../platform/lib/outbound-address.ts'
import type { Services } from '../../services.ts'
import { firstAccount } from '../accounts/ops.ts'
import { refusals as accountRefusals } from '../accounts/refusals.ts'
import { isCarrying } from '../msgapp/channels/ops.ts'
import { openOrders, requestSync } from '../numbers/ops.ts'
import { countMissingReceipts, type ReceiptCounts } from '../sms/ops.ts'
import { type ConnectionKind, changeSchemaOf, kinds, type SettingsOf } from './connection-kinds.ts'
import * as c from './contract.ts'
import { openSettings, sealSettings } from './ops.ts'
import { refusals } from './refusals.ts'
import type { LiveState, ProcessState } from './remote-connections.ts'
import { checkSmsHttp } from './sms-http-settings.ts'
import * as store from './store.ts'

/** SMPP has a word of its own for a link that is up. */
const upWord = (kind: ConnectionKind): 'bound' | 'up' => (kind === 'smpp' ? 'bound' : 'up')

const presentLink = (kind: ConnectionKind, link: Omit<LiveState, 'links'>) => ({
  state: link.state === 'up' ? upWord(kind) : link.state,
  since: iso(link.since),
  ...(link.lastError ? { last_error: link.lastError } : {}),
  fatal: link.fatal ?? false,
  in_flight: link.inFlight,
  submitted: link.submitted,
})

const bindTypes = ['transceiver', 'transmitter', 'receiver'] as const

const presentBinds = (links: NonNullable<LiveState['links']>) =>
  links.flatMap((link) => {
    const bind = bindTypes.find((one) => one === link.name)
    return bind ? [{ bind, ...presentLink('smpp', link) }] : []
  })

const presentSkew = ({ clockSkewSeconds }: LiveState) =>
  typeof clockSkewSeconds === 'number' ? { clock_skew_seconds: clockSkewSeconds } : {}

const presentState = (kind: ConnectionKind, state: LiveState) => ({
  ...presentLink(kind, state),
  ...presentSkew(state),
  ...(typeof state.registered === 'boolean' ? { registered: state.registered } : {}),
  ...(state.calls === undefined ? {} : { calls: state.calls }),
  ...(typeof state.pingMs === 'number' ? { ping_ms: state.pingMs } : {}),
  ...(typeof state.pingedAt === 'number' ? { pinged_at: iso(state.pingedAt) } : {}),
  ...(kind === 'smpp' && state.links ? { binds: presentBinds(state.links) } : {}),
})

const presentReceipts = ({ waiting, without_receipt, refused_at }: ReceiptCounts) => ({
  waiting,
  without_receipt,
  ...(refused_at === null ? {} : { refused_at: iso(refused_at) }),
})

const idOf = (printed: string) => parse('CNX', printed) ?? refuse(refusals.unknownConnection(printed))

/** Validates rules that the schema of the settings cannot express, on the complete settings. @throws Problem */
const checkSettings = (kind: ConnectionKind, settings: object) => {
  // The schema of the kind has validated them; fields that the kind does not have are absent.
  const {
    tls_ca: authority,
    allowed_addresses: networks,
    register,
    username,
    password,
  } = settings as Partial<SettingsOf['sip-trunk']>
  if (authority !== undefined && !areCertificates(authority)) throw refusals.badTlsCa()
  // The kind tells which settings these are.
  if (kind === 'sms-http') checkSmsHttp(settings as SettingsOf['sms-http'])
  if (kind !== 'sip-trunk') return
  const wrong = networks?.find((text) => readNetwork(text) === null)
  if (wrong !== undefined) throw refusals.badAllowedAddress(wrong)
  const missing = username ? 'password' : 'username'
  if (register && !(username && password)) throw refusals.requiredToRegister(missing)
}

/**
 * Accepts one certificate or several, with remarks between them, and nothing else: other content would be returned in
 * plain text.
 */
const areCertificates = (pem: string): boolean => {
  // A remark, then for each certificate: its first line, its body, its last line, a remark.
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

const omitFields = (fields: Fields, names: readonly string[]): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)))

/** Splits a change into settings with a value and the names that null clears. */
const splitChange = (settings: Fields): { replaced: Fields; cleared: string[] } => {
  const cleared = Object.keys(settings).filter((name) => settings[name] === null)
  return { replaced: omitFields(settings, cleared), cleared }
}

/** State in which a connection works: preferred when several processes run it. */
const isWorking = ({ state }: LiveState): boolean => state === 'up'

type Access = { shared?: boolean | undefined; account_uuids?: readonly string[] | undefined }

/** Sets the accounts that have access to a connection, and no others. @returns the connection */
const assign = async (tx: Tx, row: store.ConnectionRow, printed: readonly string[] | undefined) => {
  if (!printed) return row
  const accounts = printed.map((one) => parse('ACC', one) ?? refuse(accountRefusals.unknownAccount(one)))
  const known = await store.assign(tx, row.id, accounts)
  for (const one of accounts) if (!known.has(one)) throw accountRefusals.unknownAccount(print('ACC', one))
  return { ...row, accounts: [...known].sort() }
}

/** Presents connections, with the states of this process. */
const makePresenter = ({ seal, localConnections: local, clockSkewSeconds }: Services) => {
  /** The state of a connection that runs here. */
  const ownState = (row: store.ConnectionRow): LiveState | undefined => {
    const state = local.of(row.kind).state(row.id)
    const skew = clockSkewSeconds?.() ?? null
    return state && skew !== null ? { ...state, clockSkewSeconds: skew } : (state ?? undefined)
  }

  /** Tenants name the connection of a messaging network; only routing uses the others. */
  const isNamedByTenants = (kind: ConnectionKind): boolean => local.of(kind).isChat

  const access = (row: store.ConnectionRow) =>
    isNamedByTenants(row.kind)
      ? { shared: row.shared, account_uuids: row.accounts.map((one) => print('ACC', one)) }
      : {}

  /** The audited fields, secrets included: the audit trail masks them but still shows that a secret changed. */
  const audited = (row: store.ConnectionRow) => ({
    kind: row.kind,
    name: row.name,
    enabled: row.enabled,
    settings: openSettings(row, seal),
    ...access(row),
  })

  /** @param processes that run the connection; this process knows its own state better */
  const presentConnection = (
    row: store.ConnectionRow,
    processes: readonly ProcessState[] = [],
    receipts?: ReceiptCounts,
  ) => {
    const others = processes.filter(({ isOwn }) => !isOwn)
    const first = others.find(({ state }) => isWorking(state)) ?? others[0]
    const state = row.enabled ? (ownState(row) ?? first?.state) : undefined
    const known = processes.map(({ process, state: one }) => ({
      process,
      ...(one.share && one.share.of > 1 ? { slots: one.share.held } : {}),
      ...presentLink(row.kind, one),
      ...presentSkew(one),
    }))
    return {
      uuid: print('CNX', row.id),
      kind: row.kind,
      name: row.name,
      settings: row.settings,
      enabled: row.enabled,
      ...access(row),
      ...(state
        ? {
            state: {
              ...presentState(row.kind, state),
              ...(receipts ? { receipts: presentReceipts(receipts) } : {}),
              ...(known.length > 0 ? { processes: known } : {}),
            },
          }
        : {}),
      created_at: iso(row.created_at),
      updated_at: iso(row.updated_at),
    }
  }

  return { isNamedByTenants, audited, presentConnection }
}

/** Tests a connection here if it runs here, else in the process that runs it. */
const testConnection = async (
  { localConnections: local, remoteConnections: remote }: Services,
  { id, kind }: store.ConnectionRow,
) => {
  const links = local.of(kind)
  return links.role === null || links.state(id) !== null ? await links.test(id) : await remote.test(id, links.role)
}

export const connectionRoutes = (parts: Services) => {
  const { db, seal, changes, remoteConnections: remote } = parts
  const { isNamedByTenants, audited, presentConnection } = makePresenter(parts)

  /** Runs after every change of a connection, in its transaction. */
  const changed = async (tx: Tx, { id, kind }: Pick<store.ConnectionRow, 'id' | 'kind'>) => {
    if (kind === 'didww') await requestSync(tx, id)
    await changes.invalidate(tx, 'connections')
  }

  const checkAccess = (kind: ConnectionKind, { shared, account_uuids }: Access) => {
    if ((shared !== undefined || account_uuids !== undefined) && !isNamedByTenants(kind))
      throw refusals.notChosenByTenants(kind)
  }

  return [
    route(c.createConnection, async ({ body, tx, audit }) => {
      const { kind, name, settings, enabled = true, shared = false } = body
      checkSettings(kind, settings)
      checkAccess(kind, body)
      const content = { name, enabled, shared, ...sealSettings(kind, settings, seal) }
      const created = (await store.create(tx, uuid(), kind, content)) ?? refuse(refusals.nameTaken(name))
      const isOpen = !isNamedByTenants(kind) || body.shared !== undefined || body.account_uuids !== undefined
      const first = isOpen ? null : await firstAccount(tx)
      const row = await assign(tx, created, first === null ? body.account_uuids : [print('ACC', first)])
      await audit(tx, { target: print('CNX', row.id), after: audited(row) })
      await changed(tx, row)
      return ok({ connection: presentConnection(row) })
    }),

    route(c.listConnections, async ({ query }) => {
      const [states, receipts] = await Promise.all([remote.states(), countMissingReceipts(db)])
      const rows = (await store.all(db)).filter(
        ({ kind, name }) => (query.kind ?? kind) === kind && (query.name ?? name) === name,
      )
      const connections = rows.map((row) => presentConnection(row, states.get(row.id), receipts.get(row.id)))
      return ok({ count: rows.length, connections })
    }),

    route(c.getConnection, async ({ params }) => {
      const row = await store.find(db, idOf(params.connection_uuid))
      const found = row ?? refuse(refusals.unknownConnection(params.connection_uuid))
      const [states, receipts] = await Promise.all([remote.states(), countMissingReceipts(db)])
      return ok({ connection: presentConnection(found, states.get(found.id), receipts.get(found.id)) })
    }),

    route(c.changeConnection, async ({ params, body, request, tx, audit }) => {
      const row =
        (await store.lock(tx, idOf(params.connection_uuid))) ??
        refuse(refusals.unknownConnection(params.connection_uuid))
      const { name = row.name, enabled = row.enabled, shared = row.shared } = body
      checkAccess(row.kind, body)
      if (await store.isTaken(tx, name, row.id)) throw refusals.nameTaken(name)
      const { replaced, cleared } = splitChange(body.settings ?? {})
      checkFields(changeSchemaOf(row.kind), body.settings, ['settings'])
      validatePart(request, changeSchemaOf(row.kind), replaced, 'settings')
      const settings = omitFields({ ...openSettings(row, seal), ...replaced }, cleared)
      // A setting that the kind requires cannot be cleared.
      if (cleared.length > 0) validatePart(request, kinds[row.kind].settings, settings, 'settings')
      if (body.settings) checkSettings(row.kind, settings)
      const content = sealSettings(row.kind, settings, seal)
      const isOther = name !== row.name || enabled !== row.enabled || body.settings !== undefined
      if (isOther) await store.change(tx, row.id, { name, enabled, ...content })
      await store.share(tx, row.id, shared)
      const current = (await store.find(tx, row.id)) ?? refuse(refusals.unknownConnection(params.connection_uuid))
      const after = await assign(tx, current, body.account_uuids)
      const isNarrower = (row.shared && !shared) || body.account_uuids !== undefined
      if (isNarrower && !shared && (await isCarrying(tx, row.id, after.accounts)))
        throw refusals.channelsLeftOut(row.name)
      await audit(tx, { before: audited(row), after: audited(after) })
      await changed(tx, after)
      return ok({ connection: presentConnection(after) })
    }),

    route(c.deleteConnection, async ({ params, tx, audit }) => {
      const row =
        (await store.lock(tx, idOf(params.connection_uuid))) ??
        refuse(refusals.unknownConnection(params.connection_uuid))
      const open = await openOrders(tx, row.id)
      if (open > 0) throw refusals.ordersOpen(open, row.name)
      if (await isCarrying(tx, row.id)) throw refusals.channelsOpen(row.name)
      await store.remove(tx, row.id)
      await audit(tx, { before: audited(row) })
      await changed(tx, row)
      return ok({})
    }),

    routeWithoutTransaction(c.testConnection, async ({ params, audit }) => {
      const row =
        (await store.find(db, idOf(params.connection_uuid))) ??
        refuse(refusals.unknownConnection(params.connection_uuid))
      const { working, message } = row.enabled
        ? await testConnection(parts, row)
        : { working: false, message: 'the connection is not enabled' }
      await audit(null, { after: { working } })
      return ok({ working, message: message === 'up' ? upWord(row.kind) : message })
    }),
  ]
}
