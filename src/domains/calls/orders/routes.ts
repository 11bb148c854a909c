import type { Static } from 'typebox'
import type { Sql } from '../../../platform/db/sql.ts'
import { type Endpoint, type HandlerInput, ok, routeWithoutTransaction, routeWithPreparation } from '../../../platform/http/endpoint.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { phoneNumber } from '../../../platform/http/validation.ts'
import { parse, print, uuid } from '../../../platform/lib/id.ts'
import type { Services } from '../../../services.ts'
import { presentCall } from '../call-presenter.ts'
import { commandPollMs, commandWaitMs, ordinaryCallSeconds, ringTimeoutSeconds } from '../limits.ts'
import type { CallCommand, CommandOutcome } from '../programs/call-command.ts'
import type { CallOrder } from '../programs/program-source.ts'
import { recordingLinks } from '../recordings/recording-links.ts'
import { refusals } from '../refusals.ts'
import { find, lock } from '../store.ts'
import { readCommand } from './command-reader.ts'
import * as commands from './command-store.ts'
import * as c from './contract.ts'
import { endQueued, queueOrder, storeRefusedCall } from './ops.ts'
import { checkAddress, checkSource, checkTags, sourceOf } from './order-source.ts'

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
        : { url: body.status_url, method: 'POST', events: body.status_events ?? ['completed'], shape: 'native', application },
    tags: body.tags ?? {},
  }
}

const createCallRoute = (parts: Services): Endpoint => {
  const { outbound, callPrograms } = parts
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
        await callPrograms.checkApplication(tx, account.id, body.application_uuid)
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

/** Waits for the outcome of a command. Returns null if it takes too long. */
const awaitOutcome = async (sql: Sql, account: string, id: string): Promise<CommandOutcome | null> => {
  for (const end = performance.now() + commandWaitMs; performance.now() < end; ) {
    const outcome = await commands.outcomeOf(sql, account, id)
    if (outcome) return outcome
    await new Promise((resolve) => setTimeout(resolve, commandPollMs))
  }
  return null
}

/**
 * Gives a command to the process of the call: a call that still waits is ended here.
 * @returns the id of the command; null if it is done
 * @throws the 404, 406, 409 or 503 Problem
 */
export const giveCommand = async (
  { db, changes }: Pick<Services, 'db' | 'changes'>,
  account: string,
  call: string,
  command: CallCommand,
): Promise<string | null> =>
  await db.begin(async (tx) => {
    const row = await lock(tx, account, call)
    if (!row) throw refusals.callEnded()
    if (row.queued && command.command === 'hangup') {
      await endQueued(tx, account, call)
      return null
    }
    const id = uuid()
    await commands.addCommand(tx, account, id, call, command)
    await changes.invalidate(tx, 'calls')
    return id
  })
