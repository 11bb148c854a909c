import type { Static } from 'typebox'
import { type Endpoint, ok, routeWithoutTransaction, routeWithPreparation } from '../../../platform/http/endpoint.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { phoneNumber } from '../../../platform/http/validation.ts'
import { parse, print } from '../../../platform/lib/id.ts'
import type { Services } from '../../../services.ts'
import { presentCall } from '../call-presenter.ts'
import { ordinaryCallSeconds, ringTimeoutSeconds } from '../limits.ts'
import type { CommandOutcome } from '../programs/call-command.ts'
import type { CallOrder } from '../programs/program-source.ts'
import { recordingLinks } from '../recordings/recording-links.ts'
import { refusals } from '../refusals.ts'
import { find } from '../store.ts'
import { addressesOf, readCommand } from './command-reader.ts'
import { runCommandOnCall } from './commands.ts'
import * as c from './contract.ts'
import { queueOrder, storeRefusedCall } from './ops.ts'
import { checkAddress, checkApplication, checkSource, checkTags, sourceOf } from './order-source.ts'

type NewCall = Static<typeof c.createCall.body>

const placingOf = ({ ring_timeout, max_seconds, send_digits, record, headers }: NewCall): CallOrder['placing'] => ({
  ring_seconds: ring_timeout ?? ringTimeoutSeconds.trunk,
  most_seconds: max_seconds ?? ordinaryCallSeconds,
  send_digits: send_digits ?? null,
  record: record ?? false,
  headers: headers ?? {},
})

const orderOf = (body: NewCall): CallOrder => {
  const program = sourceOf(body)
  const application = program.kind === 'application' ? program.application : null
  return {
    program,
    placing: placingOf(body),
    callbacks:
      body.status_url === undefined
        ? null
        : {
            url: body.status_url,
            method: 'POST',
            events: body.status_events ?? ['completed'],
            shape: 'native',
            application,
          },
    tags: body.tags ?? {},
  }
}

const createCallRoute = (parts: Services): Endpoint => {
  const { outbound } = parts
  const { urlOf: linkOf } = recordingLinks(parts)
  return {
    ...routeWithPreparation(
      c.createCall,
      async ({ body, isSandbox }) => {
        checkTags('tags', body.tags)
        await checkSource(outbound.of(isSandbox), body)
        await checkAddress(outbound.of(isSandbox), 'status_url', body.status_url)
      },
      async ({ account, body, tx, audit }) => {
        await checkApplication(tx, account.id, body.application_uuid)
        const order = orderOf(body)
        const from = phoneNumber(body.from_number)
        const { row, queuedMs } = await queueOrder(parts, tx, account.id, { to: body.to, from, order })
        const uuid = print('CDR', row.id)
        await audit(tx, { target: uuid, after: { from_number: from, to: row.to_number, program: order.program.kind } })
        return ok({ cdr: presentCall(row, linkOf), queued_ms: queuedMs })
      },
    ),
    refused: (problem) => storeRefusedCall(parts, problem),
  }
}

const presentOutcome = (outcome: CommandOutcome) =>
  outcome.ok
    ? {
        ok: true,
        ...(outcome.recording ? { recording_uuid: print('REC', outcome.recording) } : {}),
        ...(outcome.stream ? { stream: outcome.stream } : {}),
      }
    : { ok: false, code: outcome.code, reason: outcome.reason }

const commandCallRoute = (parts: Services): Endpoint => {
  const { db, outbound } = parts
  return routeWithoutTransaction(c.commandCall, async ({ account, params, body, isSandbox, reply, audit }) => {
    const call = parse('CDR', params.call_uuid)
    const row = (call && (await find(db, account.id, call))) || refuse(refusals.unknownCall(params.call_uuid))
    await checkApplication(db, account.id, body.application_uuid)
    if (row.is_msgapp) throw refusals.callOnOtherDevices()
    const command = readCommand(body)
    for (const [field, address] of addressesOf(body)) await checkAddress(outbound.of(isSandbox), field, address)
    const outcome = await runCommandOnCall(parts, row, command, (tx) => audit(tx, { after: { command: body.command } }))
    if (outcome === null) reply.code(202)
    return ok({ outcome: outcome && presentOutcome(outcome) })
  })
}

/** Calls by the API, and commands on calls. */
export const callOrderRoutes = (parts: Services) => [createCallRoute(parts), commandCallRoute(parts)]
