import type { FastifyRequest } from 'fastify'
import type { Db, Tx } from '../db/sql.ts'
import { parse, uuid } from '../lib/id.ts'
import { keyHash } from '../lib/secret.ts'
import { storable } from '../lib/storable.ts'
import type { Audit, AuditEntry } from './audit-entry.ts'
import { confidentialNames, type Masking, maskNamed, topFields } from './confidential.ts'
import type { Contract } from './endpoint.ts'
import { maxAuditChanges, maxAuditTargets, maxAuditTextLength } from './limits.ts'
import type { Session } from './session.ts'

type Fields = Readonly<Record<string, unknown>>

export type Change = { field: string; before?: unknown; after?: unknown }

/** Objects of fields; not the stream of an uploaded file, whose inner objects refer to each other. */
const isFields = (value: unknown): value is Fields => {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** Values by their dotted path; lists are values. */
const flattened = (fields: unknown, above = ''): [string, unknown][] =>
  Object.entries(isFields(fields) ? fields : {}).flatMap(([name, value]) =>
    isFields(value) ? flattened(value, `${above}${name}.`) : [[`${above}${name}`, value]],
  )

const truncated = (value: unknown): unknown => {
  if (typeof value === 'string') return storable(value, maxAuditTextLength)
  const text = typeof value === 'object' ? (JSON.stringify(value) ?? '') : ''
  return text.length > 2_000 || text.includes('\\u') ? storable(text, maxAuditTextLength) : value
}

/** Returns the fields that differ between two states. Secrets are masked as `•••`. */
export const differences = (
  { before, after }: Pick<AuditEntry, 'before' | 'after'>,
  names: ReadonlyMap<string, Masking>,
): Change[] => {
  const [old, fresh] = [new Map(flattened(before ?? {})), new Map(flattened(after ?? {}))]
  const shown = (field: string, value: unknown) => {
    const path = field.split('.')
    // A mark on an object masks all its fields.
    return truncated(maskNamed(names, value ?? null, path.find((name) => names.has(name)) ?? path.at(-1)))
  }
  return [...new Set([...old.keys(), ...fresh.keys()])]
    .filter((field) => !field.endsWith('updated_at'))
    .filter((field) => JSON.stringify(old.get(field) ?? null) !== JSON.stringify(fresh.get(field) ?? null))
    .slice(0, maxAuditChanges)
    .map((field) => ({
      field: storable(field, maxAuditTextLength),
      ...(before ? { before: shown(field, old.get(field)) } : {}),
      ...(after ? { after: shown(field, fresh.get(field)) } : {}),
    }))
}

/** Returns the canonical spelling of an id: lower case after the prefix. */
export const canonicalTarget = (target: string): string =>
  /^[A-Z]{3}[0-9a-fA-F-]{36}$/.test(target)
    ? target.slice(0, 3) + target.slice(3).toLowerCase()
    : storable(target, maxAuditTextLength)

/** Kinds of actors (docs/security.md). */
export type AuditActorKind = 'operator' | 'api_key' | 'system' | 'person' | 'operator_person' | 'visitor'

type AuditRow = {
  account: string | null
  address: string | null
  userAgent: string | null
  requestId: string | null
  action: string
  targets: readonly string[]
  changes: readonly Change[]
  session: string | null
}

export type AuditActor = { kind: AuditActorKind; id: string | null; label: string; lastFour: string | null }

/** Writes a row for each account, by one statement: a refused sign-in must not take longer for some persons. A person has
 *  the name of the user of the account. */
const insert = (tx: Tx, actor: AuditActor, r: AuditRow, accounts: readonly (string | null)[] = [r.account]) => tx.run`
  insert into audit (account_id, id, actor_kind, actor_id, actor_label, actor_last_four, address, user_agent, request_id,
    action, targets, changes, session_id)
  select account_id, id, ${actor.kind}, ${actor.id},
    case when ${actor.kind}::text = 'person' then coalesce((
      select nullif(full_name(first_name, last_name), '') from users u
      where u.account_id = rows.account_id and u.person_id = ${actor.id}::uuid
      order by u.status = 'DELETED', u.created_at, u.id limit 1), ${actor.label}) else ${actor.label} end,
    ${actor.lastFour}, ${r.address}, ${r.userAgent}, ${r.requestId}, ${r.action}, ${r.targets}::text[], ${JSON.stringify(r.changes)}::jsonb, ${r.session}
  from unnest(${accounts}::uuid[], ${accounts.map(() => uuid())}::uuid[]) as rows (account_id, id)`

/** @param key the hash of an API key, or its id */
const insertOfKey = (tx: Tx, key: { hash: Buffer | null; id: string | null }, r: AuditRow) => tx.run`
  insert into audit (account_id, id, actor_kind, actor_id, actor_label, actor_last_four, address, user_agent, request_id,
    action, targets, changes, session_id)
  select k.account_id, ${uuid()}, 'api_key', k.id, k.label, k.last_four, ${r.address}, ${r.userAgent}, ${r.requestId},
    ${r.action}, ${r.targets}::text[], ${JSON.stringify(r.changes)}::jsonb, ${r.session}
  from api_keys k
  where k.account_id = ${r.account} and (k.hash = ${key.hash}::bytea or k.id = ${key.id}::uuid)`

/** Records an operation of the program itself, such as a key that a setting adds at the start. */
export const auditSystem = async (tx: Tx, action: string, { target = [], account, ...states }: AuditEntry) => {
  const actor: AuditActor = { kind: 'system', id: null, label: 'system', lastFour: null }
  await insert(tx, actor, {
    account: account ?? null,
    address: null,
    userAgent: null,
    requestId: null,
    action,
    targets: [target].flat(),
    changes: differences(states, new Map()),
    session: null,
  })
}

const idsIn = (params: Record<string, string>): string[] => {
  const { account_uuid: account, ...others } = params
  const ids = Object.values(others)
  return ids.length > 0 ? ids : account === undefined ? [] : [account]
}

export const userAgentOf = ({ headers }: Pick<FastifyRequest, 'headers'>): string | null =>
  headers['user-agent'] ? storable(headers['user-agent'], maxAuditTextLength) : null

/** Returns the actor of a session; null for one of an API key. @param actsAsOperator by rights in the installation */
export const actorOfSession = ({ kind, person, operator }: Session, actsAsOperator: boolean): AuditActor | null => {
  if (kind === 'operator-key' && operator) return { kind: 'operator', ...operator }
  if (!person) return null
  return { kind: actsAsOperator ? 'operator_person' : 'person', id: person.id, label: person.name, lastFour: null }
}

/**
 * Records an act of the console: a sign-in, its refusal, or a change of the own person. Such an act concerns each account
 * of the person.
 * @param accounts bare uuids; empty: the installation
 */
export const auditVisit = async (
  tx: Tx,
  request: Pick<FastifyRequest, 'ip' | 'id' | 'headers'>,
  action: string,
  actor: AuditActor,
  {
    accounts,
    session,
    target,
    ...states
  }: Omit<AuditEntry, 'account'> & {
    readonly accounts: readonly string[]
    readonly session: string | null
  },
): Promise<void> => {
  const row: AuditRow = {
    account: null,
    address: request.ip,
    userAgent: userAgentOf(request),
    requestId: request.id,
    action,
    targets: [target ?? []].flat(),
    changes: differences(states, new Map()),
    session,
  }
  await insert(tx, actor, row, accounts.length > 0 ? accounts : [null])
}

/** Ids of the audited operations, and whether they need the inbox. */
const actions = new Map<string, boolean>()

/** The caller of refused requests. `account` is null for the installation; `key`: id of an API key, if it has no actor. */
export type RefusedCaller = {
  readonly account: string | null
  readonly actor: AuditActor | null
  readonly key: string | null
  readonly session: string | null
}

/** Action of the rows of refused requests. */
const refusedAction = 'accessRefused'
actions.set(refusedAction, false)

/** Returns the ids in the path of a request, as an audit row has them. */
export const targetsOfPath = ({ params }: Pick<FastifyRequest, 'params'>): string[] =>
  idsIn(Object.fromEntries(Object.entries(Object(params)).map(([name, value]) => [name, String(value)])))
    .slice(0, maxAuditTargets)
    .map(canonicalTarget)

/** Records requests that were refused for lack of rights. */
export const auditRefusedAccess = async (
  tx: Tx,
  { account, actor, key, session }: RefusedCaller,
  origin: Pick<AuditRow, 'address' | 'userAgent' | 'requestId' | 'targets'>,
  after: Fields,
): Promise<void> => {
  const { address, userAgent, requestId, targets } = origin
  const changes = differences({ after }, new Map())
  const row: AuditRow = { account, address, userAgent, requestId, action: refusedAction, targets, changes, session }
  if (actor) await insert(tx, actor, row)
  else await insertOfKey(tx, { hash: null, id: key }, row)
}

/** Returns the ids of the audited operations, sorted. */
export const auditedActions = (): string[] => [...actions.keys()].sort()

/** True for acts on conversations and contacts: their changes may have contents. */
export const isOfInbox = (action: string): boolean => actions.get(action) ?? false

/** Returns the function that writes the rows of one contract. @param contents fields to mask besides the marked ones */
const makeWriter = (contract: Contract, contents: readonly string[] = []) => {
  actions.set(contract.id, contract.needs === 'inbox')
  // Searched for at the first row: for all contracts that takes a tenth of the time to build the server.
  const findNames = (): ReadonlyMap<string, Masking> =>
    new Map([
      ...confidentialNames(contract.query, contract.body, contract.reply),
      ...contents.map((name) => [name, 'whole'] as const),
    ])
  let names: ReadonlyMap<string, Masking> | undefined

  return async (tx: Tx, request: FastifyRequest, { target, account, ...states }: AuditEntry): Promise<void> => {
    const params: Record<string, string> = Object.fromEntries(Object.entries(Object(request.params)))
    names ??= findNames()
    const row: AuditRow = {
      account: request.account?.id ?? account ?? parse('ACC', params.account_uuid ?? ''),
      address: request.ip,
      userAgent: userAgentOf(request),
      requestId: request.id,
      action: contract.id,
      targets: [target ?? idsIn(params)].flat().slice(0, maxAuditTargets).map(canonicalTarget),
      changes: differences(states, names),
      session: request.session?.id ?? null,
    }
    const { operator, session, sessionAccount } = request
    const actor = session && actorOfSession(session, sessionAccount === null || sessionAccount.isOperator)
    if (actor) {
      await insert(tx, actor, row)
      return
    }
    if (operator) {
      await insert(tx, { kind: 'operator', ...operator }, row)
      return
    }
    // A key may have come in the header of its own, by HTTP Basic, or with a session.
    const key =
      session || request.accountKey
        ? { hash: null, id: request.accountKey?.id ?? null }
        : { hash: keyHash(String(request.headers['x-user-api-key'])), id: null }
    const written = await insertOfKey(tx, key, row)
    if (written === 0) throw new Error('the API key of an audited request is not in the database')
  }
}

/** Fields of requests that hold contents of messages, or answers to regulators. `text` is masked everywhere. */
const contentFields = ['template', 'pin', 'url', 'value', 'extra_information'] as const

const printedId = /^[A-Z]{3}[0-9a-f]{8}-[0-9a-f-]{27}$/

/** Returns the ids in a response: its own, and those of the objects that it names. */
const idsInPayload = (payload: unknown): string[] =>
  isFields(payload)
    ? Object.values(payload)
        .flatMap((value) => (isFields(value) ? [value.uuid] : [value]))
        .filter((value): value is string => typeof value === 'string' && printedId.test(value))
        .slice(0, maxAuditTargets)
    : []

/** Returns the numbers in a response: of a file that was sent, what became of it. */
const countsIn = (payload: unknown): Record<string, number> =>
  Object.fromEntries(
    Object.entries(Object(payload)).filter((entry): entry is [string, number] => typeof entry[1] === 'number'),
  )

/** Returns the function that records that a list was taken as a file. */
export const makeExportAuditor = (contract: Contract) => {
  const write = makeWriter(contract)
  return (db: Db, request: FastifyRequest): Promise<void> =>
    db.begin((tx) => write(tx, request, { after: { format: 'csv' } }))
}

/** Returns the function that runs an operation of a session which is not audited for keys, and writes its row. */
export const makeSessionAuditor = (contract: Contract) => {
  const write = makeWriter(contract, contentFields)
  const known = contract.body ? topFields(contract.body) : new Set<string>()
  // Unknown fields are ignored, and may hold anything.
  const knownOf = (body: Record<string, unknown>) =>
    Object.fromEntries(Object.entries(body).filter(([name]) => known.has(name)))
  return async <T>(
    db: Db,
    { request, tx }: { request: FastifyRequest; tx: Tx | null },
    act: () => Promise<T>,
  ): Promise<T> => {
    const result = await act()
    const isRead = contract.method === 'GET'
    const after = isRead
      ? undefined
      : contract.media
        ? countsIn(result)
        : isFields(request.body)
          ? knownOf(request.body)
          : undefined
    const target = idsIn(Object(request.params)).length > 0 ? undefined : idsInPayload(result)
    const entry: AuditEntry = isRead ? {} : { after, target }
    await (tx ? write(tx, request, entry) : db.begin((own) => write(own, request, entry)))
    return result
  }
}

/** Returns the function that runs an audited operation of one contract and writes its row. */
export const makeAuditor = (contract: Contract) => {
  const write = makeWriter(contract)

  /**
   * Runs an operation and writes its audit row: in the request's transaction, or in the one that the handler passes.
   * The row of an operation without a transaction is written after it. A refusal writes nothing.
   */
  return async <T>(
    db: Db,
    { request, tx }: { request: FastifyRequest; tx: Tx | null },
    act: (audit: Audit) => Promise<T>,
  ): Promise<T> => {
    let isWritten = false
    let noted: AuditEntry = {}
    const audit: Audit = async (within, entry) => {
      noted = entry
      if (!within) return
      await write(within, request, entry)
      if (within === tx) isWritten = true
      else
        within.afterCommit(() => {
          isWritten = true
        })
    }
    const result = await act(audit)
    if (isWritten) return result
    await (tx ? write(tx, request, noted) : db.begin((own) => write(own, request, noted)))
    return result
  }
}
