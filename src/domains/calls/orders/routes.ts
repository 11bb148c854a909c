import type { Static } from 'typebox'
import { assertMayMake } from '../../../platform/http/credential-strength.ts'
import {
  type Endpoint,
  ok,
  route,
  routeWithoutTransaction,
  routeWithPreparation,
} from '../../../platform/http/endpoint.ts'
import { phoneNumber } from '../../../platform/http/validation.ts'
import { iso } from '../../../platform/lib/clock.ts'
import { print } from '../../../platform/lib/id.ts'
import type { Services } from '../../../services.ts'
import type { ApplicationRow } from '../../applications/ops.ts'
import { presentCall } from '../call-presenter.ts'
import { ordinaryCallSeconds, ringTimeoutSeconds } from '../limits.ts'
import type { CommandOutcome } from '../programs/call-command.ts'
import { printStream } from '../programs/program-deps.ts'
import type { CallOrder } from '../programs/program-source.ts'
import { recordingLinks } from '../recordings/recording-links.ts'
import { refusals } from '../refusals.ts'
import { visibleCallOf } from '../visible-call.ts'
import { checkAddresses, readCommand } from './command-reader.ts'
import { runCommandOnCall } from './commands.ts'
import * as c from './contract.ts'
import { queueOrder, storeRefusedCall } from './ops.ts'
import { applicationOf, checkAddress, checkSource, checkTags, sourceOf } from './order-source.ts'
import { programSecretOf, rotateProgramSecret } from './program-secret.ts'
import { callbacksOfApplication } from './source-resolution.ts'

type NewCall = Static<typeof c.createCall.body>

const placingOf = ({ ring_timeout, max_seconds, send_digits, record, headers }: NewCall): CallOrder['placing'] => ({
  ring_seconds: ring_timeout ?? ringTimeoutSeconds.trunk,
  most_seconds: max_seconds ?? ordinaryCallSeconds,
  send_digits: send_digits ?? null,
  record: record ?? false,
  headers: headers ?? {},
})

/** Returns who gets the statuses: the address of the request, else that of its application. */
const callbacksOf = ({ status_url: url, status_events }: NewCall, application: ApplicationRow | null) => {
  if (url === undefined) return application && callbacksOfApplication(application)
  const events = status_events ?? (['completed'] as const)
  return { url, method: 'POST', events, shape: 'native', application: application?.id ?? null } as const
}

const orderOf = (body: NewCall, application: ApplicationRow | null): CallOrder => ({
  program: sourceOf(body, application),
  placing: placingOf(body),
  callbacks: callbacksOf(body, application),
  tags: body.tags ?? {},
})

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
        const order = orderOf(body, await applicationOf(tx, account.id, body))
        const from = phoneNumber(body.from_number)
        const { row, queuedMs } = await queueOrder(parts, tx, account, { to: body.to, from, order })
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
        ...(outcome.stream ? { stream: printStream(outcome.stream) } : {}),
      }
    : { ok: false, code: outcome.code, reason: outcome.reason }

const commandCallRoute = (parts: Services): Endpoint => {
  const { db, outbound } = parts
  return routeWithoutTransaction(c.commandCall, async ({ params, body, isSandbox, reply, audit, ...call }) => {
    const row = await visibleCallOf(db, call, params.call_uuid)
    const application = await applicationOf(db, row.account_id, body)
    if (row.is_msgapp) throw refusals.callOnOtherDevices()
    const command = readCommand(body, application)
    await checkAddresses(outbound.of(isSandbox), body)
    const outcome = await runCommandOnCall(parts, row, command, call.account.limitedKeys, (tx) =>
      audit(tx, { after: { command: body.command } }),
    )
    if (outcome === null) reply.code(202)
    return ok({ outcome: outcome && presentOutcome(outcome) })
  })
}

/** Calls by the API, commands on calls, and the secret that signs requests of programs without an application. */
export const callOrderRoutes = (parts: Services) => [
  createCallRoute(parts),
  commandCallRoute(parts),
  route(c.getProgramSecret, async ({ account, request }) => {
    assertMayMake(request, { kind: 'webhook' })
    const { secret, previous } = await programSecretOf(parts.db, parts.seal, account.id)
    return ok({
      signing_secret: secret,
      ...(previous ? { previous_secret_valid_until: iso(previous.until) } : {}),
    })
  }),
  route(c.rotateProgramSecret, async ({ account, request, tx, audit }) => {
    assertMayMake(request, { kind: 'webhook' })
    const { secret, until } = await rotateProgramSecret(tx, parts.seal, account.id)
    const previous_secret_valid_until = iso(until)
    await audit(tx, {
      target: print('ACC', account.id),
      after: { signing_secret: 'new', previous_secret_valid_until },
    })
    return ok({ signing_secret: secret, previous_secret_valid_until })
  }),
]
