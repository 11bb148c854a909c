import type { Static } from 'typebox'
import {
  findRecording,
  findRecordingInProgress,
  makeRecordingLinks,
  pageOfRecordings,
  type RecordingRow,
  removeRecording,
  visibleCalls,
} from '../../../domains/calls/compat/ops.ts'
import { type NarrowingCall, narrowingOf } from '../../../domains/inbox/narrowing/ops.ts'
import type { Sql } from '../../../platform/db/sql.ts'
import type { Capability } from '../../../platform/http/capability.ts'
import { type Endpoint, route, routeWithoutTransaction } from '../../../platform/http/endpoint.ts'
import { boundOf } from '../../../platform/http/paging.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { print } from '../../../platform/lib/id.ts'
import { parseSid, printSid } from '../../../platform/lib/sid.ts'
import type { Services } from '../../../services.ts'
import { checkAddresses } from '../address-check.ts'
import { commandCall, findVisibleCall } from '../calls/call-access.ts'
import { methodOf } from '../compat-schemas.ts'
import { daysOf } from '../day-filter.ts'
import { cutPage, pageFields, pageOf, rangeOf } from '../list-pages.ts'
import { refusals } from '../refusals.ts'
import * as c from './contract.ts'
import { presentRecording, type RecordingState } from './recording-fields.ts'

type PageQuery = Static<typeof c.listCallRecordings.query>

/**
 * Finds a recording of a call that a caller may see. @param unless as in `narrowingOf` @param callSid of its call
 * @throws Problem 404
 */
const recordingOf = async (
  sql: Sql,
  call: NarrowingCall,
  sid: string,
  unless?: Capability,
  callSid?: string,
): Promise<RecordingRow> => {
  const id = parseSid('RE', sid)
  const row = id === null ? null : await findRecording(sql, call.account.id, id)
  const unknown = () => refuse(refusals.unknownResource(`Recordings/${sid}`))
  if (row === null || (callSid !== undefined && parseSid('CA', callSid) !== row.call_id)) return unknown()
  const narrowing = await narrowingOf(sql, call, unless)
  return narrowing === null || (await visibleCalls(sql, narrowing, [row.call_id])).has(row.call_id) ? row : unknown()
}

const readRoutes = ({ db, ...parts }: Services): Endpoint[] => {
  const { urlOfRecording, pathUrlOfRecording } = makeRecordingLinks(parts)

  /** Returns a page of recordings of calls that the reader may see. */
  const pageIn = async (
    list: string,
    path: string,
    call: NarrowingCall,
    query: PageQuery,
    { of, since, until }: { readonly of: string | null; readonly since: Date | null; readonly until: Date | null },
  ) => {
    const { account } = call
    const page = pageOf(list, query)
    const bound = until === null ? null : boundOf(until.toISOString())
    const found = await pageOfRecordings(db, account.id, { call: of, since }, rangeOf(page, bound))
    const { rows, next } = cutPage(found, page)
    const narrowing = await narrowingOf(db, call, 'read_only')
    const calls = rows.map(({ call_id }) => call_id)
    const seen = narrowing === null ? null : await visibleCalls(db, narrowing, calls)
    const shown = rows.filter(({ call_id }) => seen?.has(call_id) ?? true)
    return {
      ...pageFields(list, path, query, page, shown.length, next),
      recordings: shown.map((row) => presentRecording(row, pathUrlOfRecording)),
    }
  }

  return [
    route(c.listRecordings, async ({ query, ...call }) => {
      const path = `/2010-04-01/Accounts/${printSid('AC', call.account.id)}/Recordings`
      const of = query.CallSid === undefined ? null : (parseSid('CA', query.CallSid) ?? call.account.id)
      return await pageIn(c.listRecordings.id, path, call, query, { of, ...daysOf(query, 'DateCreated') })
    }),

    route(c.listCallRecordings, async ({ params, query, ...call }) => {
      const { id } = await findVisibleCall(db, call, params.CallSid, 'read_only')
      const path = `/2010-04-01/Accounts/${printSid('AC', call.account.id)}/Calls/${params.CallSid}/Recordings`
      return await pageIn(c.listCallRecordings.id, path, call, query, { of: id, since: null, until: null })
    }),

    route(c.fetchRecording, async ({ params, ...call }) =>
      presentRecording(await recordingOf(db, call, params.Sid, 'read_only'), pathUrlOfRecording),
    ),

    route(c.fetchCallRecording, async ({ params, ...call }) =>
      presentRecording(await recordingOf(db, call, params.Sid, 'read_only', params.CallSid), pathUrlOfRecording),
    ),

    route(c.fetchRecordingFile, async ({ params, reply, ...call }) => {
      const { account_id, id, ready_at } = await recordingOf(db, call, params.Sid, 'read_only')
      if (ready_at === null) throw refusals.unknownResource(`Recordings/${params.Sid}.wav`)
      reply.header('location', urlOfRecording(account_id, id))
      return {}
    }),
  ]
}

const stateCommands = { paused: 'pause', 'in-progress': 'resume', stopped: 'stop' } as const

const changeRoutes = ({ db, outbound, ...parts }: Services): Endpoint[] => {
  const { pathUrlOfRecording } = makeRecordingLinks(parts)
  const deps = { db, changes: parts.changes }
  return [
    route(c.deleteRecording, async ({ params, tx, audit, ...call }) => {
      const { account_id, id } = await recordingOf(tx, call, params.Sid)
      if (!(await removeRecording(tx, account_id, id))) throw refusals.recordingInProgress()
      await audit(tx, { target: print('REC', id) })
      return {}
    }),

    routeWithoutTransaction(c.startRecording, async ({ params, body, isSandbox, audit, ...call }) => {
      const row = await findVisibleCall(db, call, params.CallSid)
      const { RecordingStatusCallback: url = '', RecordingStatusCallbackMethod: method = 'POST' } = body
      await checkAddresses(outbound.of(isSandbox), body, ['RecordingStatusCallback'], refusals.badCallUrl)
      const status = url === '' ? {} : { status_url: url, status_method: methodOf(method) }
      const verb = { verb: 'record_call', do: 'start', ...status }
      const outcome = await commandCall(deps, call.account, row, { command: 'record_call', verb }, (tx) =>
        audit(tx, { target: print('CDR', row.id), after: { command: 'record_call' } }),
      )
      const id = outcome?.recording
      const recording = id === undefined ? null : await findRecording(db, row.account_id, id)
      return recording === null
        ? refuse(refusals.notInProgress('its recording did not begin in time'))
        : presentRecording(recording, pathUrlOfRecording)
    }),

    routeWithoutTransaction(c.updateRecording, async ({ params, body, audit, ...call }) => {
      const row = await findVisibleCall(db, call, params.CallSid)
      const current = params.Sid === 'Twilio.CURRENT' ? await findRecordingInProgress(db, row.account_id, row.id) : null
      const recording = current ?? (await recordingOf(db, call, params.Sid, undefined, params.CallSid))
      const { Status: status, PauseBehavior: pause } = body
      if (!status) return presentRecording(recording, pathUrlOfRecording)
      if (recording.ready_at !== null) throw refusals.notInProgress('the recording is complete')
      const state: RecordingState = status
      const verb = { verb: 'record_call', do: stateCommands[state], ...(pause ? { pause } : {}) }
      await commandCall(deps, call.account, row, { command: 'record_call', verb, recording: recording.id }, (tx) =>
        audit(tx, { target: print('REC', recording.id), after: { state } }),
      )
      return presentRecording(recording, pathUrlOfRecording, state)
    }),
  ]
}

/** Recordings of calls, and of one call. */
export const recordingRoutes = (parts: Services): Endpoint[] => [...readRoutes(parts), ...changeRoutes(parts)]
