import {
  type ApplicationRow,
  addApplication,
  assertMayRunProgram,
  changeApplication,
  findApplication,
  movedField,
  pageOfApplications,
  removeApplication,
} from '../../../domains/applications/ops.ts'
import { contentsOf } from '../../../domains/inbox/narrowing/ops.ts'
import type { Sql } from '../../../platform/db/sql.ts'
import { type Endpoint, route, routeWithPreparation } from '../../../platform/http/endpoint.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { print } from '../../../platform/lib/id.ts'
import { parseSid, printSid } from '../../../platform/lib/sid.ts'
import type { Services } from '../../../services.ts'
import { checkAddresses } from '../address-check.ts'
import { methodOf } from '../compat-schemas.ts'
import { programTimeoutMs } from '../limits.ts'
import { cutPage, pageFields, pageOf, rangeOf } from '../list-pages.ts'
import { refusals } from '../refusals.ts'
import { rfc2822 } from '../times.ts'
import * as c from './contract.ts'

type Settings = {
  readonly FriendlyName?: string
  readonly VoiceUrl?: string
  readonly VoiceMethod?: string
  readonly VoiceFallbackUrl?: string
  readonly VoiceFallbackMethod?: string
  readonly StatusCallback?: string
  readonly StatusCallbackMethod?: string
}

/** Maps an application to its form in Twilio's interface. */
const present = (row: ApplicationRow) => {
  const account = printSid('AC', row.account_id)
  const sid = printSid('AP', row.id)
  return {
    sid,
    account_sid: account,
    friendly_name: row.name,
    api_version: '2010-04-01' as const,
    voice_url: row.url,
    voice_method: row.method,
    voice_fallback_url: row.fallback_url,
    voice_fallback_method: row.fallback_method,
    voice_caller_id_lookup: false,
    status_callback: row.status_url,
    status_callback_method: row.status_method,
    sms_url: null,
    sms_method: 'POST',
    sms_fallback_url: null,
    sms_fallback_method: 'POST',
    sms_status_callback: null,
    message_status_callback: null,
    public_application_connect_enabled: false,
    date_created: rfc2822(row.created_at),
    date_updated: rfc2822(row.updated_at),
    uri: `/2010-04-01/Accounts/${account}/Applications/${sid}.json`,
  }
}

/** Returns the fields that a request sets. */
const fieldsOf = (body: Settings): Parameters<typeof changeApplication>[3] => {
  const { FriendlyName: name, VoiceUrl: url, VoiceFallbackUrl: fallback, StatusCallback: status } = body
  const { VoiceMethod: method, VoiceFallbackMethod: fallbackMethod, StatusCallbackMethod: statusMethod } = body
  return {
    ...(name ? { name } : {}),
    ...(url ? { url } : {}),
    ...(method ? { method: methodOf(method) } : {}),
    ...(fallback === undefined ? {} : { fallback_url: fallback || null }),
    ...(fallbackMethod ? { fallback_method: methodOf(fallbackMethod) } : {}),
    ...(status === undefined ? {} : { status_url: status || null }),
    ...(statusMethod ? { status_method: methodOf(statusMethod) } : {}),
  }
}

/** Applications: programs of calls that are stored under a name. */
export const applicationRoutes = ({ db, seal, outbound }: Services): Endpoint[] => {
  const prepare = ({ body, isSandbox }: { readonly body: Settings; readonly isSandbox: boolean }) =>
    checkAddresses(
      outbound.of(isSandbox),
      body,
      ['VoiceUrl', 'VoiceFallbackUrl', 'StatusCallback'],
      refusals.badCallUrl,
    )

  const unknown = (sid: string) => refuse(refusals.unknownResource(`Applications/${sid}`))

  const applicationOf = async (sql: Sql, account: string, sid: string): Promise<ApplicationRow> => {
    const id = parseSid('AP', sid)
    return (id === null ? null : await findApplication(sql, account, id)) ?? unknown(sid)
  }

  return [
    routeWithPreparation(c.createApplication, prepare, async ({ account, body, tx, audit }) => {
      const fields = fieldsOf(body)
      const url = fields.url ?? refuse(refusals.noVoiceUrl())
      const { row } = await addApplication(tx, seal, account.id, {
        ...fields,
        ...{ url, name: fields.name ?? url.slice(0, 100), format: 'twilio' },
        timeout_seconds: programTimeoutMs / 1_000,
      })
      await audit(tx, { target: print('APP', row.id), after: present(row) })
      return present(row)
    }),

    route(c.listApplications, async ({ account, query }) => {
      const list = c.listApplications.id
      const page = pageOf(list, query)
      const found = await pageOfApplications(db, account.id, query.FriendlyName ?? null, rangeOf(page))
      const { rows, next } = cutPage(found, page)
      const path = `/2010-04-01/Accounts/${printSid('AC', account.id)}/Applications`
      return { ...pageFields(list, path, query, page, rows.length, next), applications: rows.map(present) }
    }),

    route(c.fetchApplication, async ({ account, params }) => present(await applicationOf(db, account.id, params.Sid))),

    routeWithPreparation(c.updateApplication, prepare, async ({ params, body, tx, audit, ...call }) => {
      const { account } = call
      const { id } = await applicationOf(tx, account.id, params.Sid)
      const fields = fieldsOf(body)
      const changed = (await changeApplication(tx, account.id, id, fields)) ?? unknown(params.Sid)
      const moved = movedField(changed.before, fields)
      if (moved)
        assertMayRunProgram(account, await contentsOf(tx, call), moved === 'url' ? 'VoiceUrl' : 'VoiceFallbackUrl')
      await audit(tx, { target: print('APP', id), before: present(changed.before), after: present(changed.after) })
      return present(changed.after)
    }),

    route(c.deleteApplication, async ({ account, params, tx, audit }) => {
      const { id } = await applicationOf(tx, account.id, params.Sid)
      const removed = (await removeApplication(tx, account.id, id)) ?? unknown(params.Sid)
      await audit(tx, { target: print('APP', id), before: present(removed) })
      return {}
    }),
  ]
}
