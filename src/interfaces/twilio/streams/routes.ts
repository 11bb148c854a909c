import type { CallRow } from '../../../domains/calls/compat/ops.ts'
import { type Endpoint, routeWithoutTransaction } from '../../../platform/http/endpoint.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { print } from '../../../platform/lib/id.ts'
import { parseSid, printSid } from '../../../platform/lib/sid.ts'
import type { Services } from '../../../services.ts'
import { addressFault, checkAddresses } from '../address-check.ts'
import { commandCall, findVisibleCall } from '../calls/call-access.ts'
import { methodOf } from '../compat-schemas.ts'
import { maxStreamParameters } from '../limits.ts'
import { refusals } from '../refusals.ts'
import { rfc2822 } from '../times.ts'
import * as c from './contract.ts'

const tracks = { inbound_track: 'inbound', outbound_track: 'outbound', both_tracks: 'both' } as const

/** Returns the values that a stream's first frame carries: the pairs Parameter1.Name and Parameter1.Value, and so on. */
const parametersOf = (body: object): Record<string, string> => {
  const read = (name: string): string => {
    const value: unknown = Reflect.get(body, name)
    return typeof value === 'string' ? value : ''
  }
  const pairs = Array.from({ length: maxStreamParameters }, (_, n) => [
    read(`Parameter${n + 1}.Name`),
    read(`Parameter${n + 1}.Value`),
  ])
  const named = pairs.filter(([name]) => name !== '')
  if (named.flat().some((text = '') => text.length > 500)) throw refusals.parameterTooLong()
  return Object.fromEntries(named)
}

const present = (
  { account_id, id }: CallRow,
  stream: string,
  name: string | null,
  status: 'in-progress' | 'stopped',
) => {
  const [account, call] = [printSid('AC', account_id), printSid('CA', id)]
  const sid = /^[0-9a-f-]{36}$/.test(stream) ? printSid('MZ', stream) : stream
  return {
    sid,
    account_sid: account,
    call_sid: call,
    name,
    status,
    date_updated: rfc2822(Date.now()),
    uri: `/2010-04-01/Accounts/${account}/Calls/${call}/Streams/${sid}.json`,
  }
}

/** Streams of the sound of calls. */
export const streamRoutes = (parts: Services): Endpoint[] => {
  const { db, outbound } = parts

  return [
    routeWithoutTransaction(c.createStream, async ({ params, body, isSandbox, audit, ...call }) => {
      const row = await findVisibleCall(db, call, params.CallSid)
      const { Url: url = '', Name: name = '', Track: track, StatusCallback: callback = '' } = body
      if (!/^wss?:\/\//i.test(url)) throw refusals.badCallUrl('Url', url, 'it must begin with wss:')
      const client = outbound.of(isSandbox)
      // As the page of the same name would be.
      const fault = await addressFault(client, url.replace(/^ws/i, 'http'))
      if (fault !== null) throw refusals.badCallUrl('Url', url, fault)
      await checkAddresses(client, body, ['StatusCallback'], refusals.badCallUrl)
      const target = new URL(url)
      // Values belong into parameters, as in TwiML.
      target.search = ''
      target.hash = ''
      const verb = {
        verb: 'stream',
        url: target.href,
        direction: 'in',
        parameters: parametersOf(body),
        ...(track ? { track: tracks[track] } : {}),
        ...(name === '' ? {} : { name }),
        ...(callback === ''
          ? {}
          : { status_url: callback, status_method: methodOf(body.StatusCallbackMethod ?? 'POST') }),
      }
      const outcome = await commandCall(parts, call.account, row, { command: 'stream', verb }, (tx) =>
        audit(tx, { target: print('CDR', row.id), after: { command: 'stream' } }),
      )
      const stream = outcome?.stream ?? refuse(refusals.notInProgress('its stream did not begin in time'))
      return present(row, stream, name === '' ? null : name, 'in-progress')
    }),

    routeWithoutTransaction(c.updateStream, async ({ params, audit, ...call }) => {
      const row = await findVisibleCall(db, call, params.CallSid)
      const stream = parseSid('MZ', params.Sid)
      const command = { command: 'stop_stream', stream, name: stream === null ? params.Sid : null } as const
      const outcome = await commandCall(parts, call.account, row, command, (tx) =>
        audit(tx, { target: print('CDR', row.id), after: { command: 'stop_stream' } }),
      )
      return present(row, outcome?.stream ?? params.Sid, command.name, 'stopped')
    }),
  ]
}
