import type { Db, Sql } from '../../../platform/db/sql.ts'
import { storable } from '../../../platform/lib/storable.ts'
import type { TimelineFact } from '../../timelines/ops.ts'
import { maxProgramStepLength, maxProgramSteps } from '../limits.ts'
import type { ProgramCall, ProgramStep } from '../programs/program.ts'

// The story of a program: its requests and verbs, which the timeline of its call shows.

type StepRow = {
  sequence: number
  at: Date
  verb: string | null
  request_url: string | null
  answer_status: number | null
  ms: number
  error_code: string | null
}

type WaitingStep = ProgramStep & { readonly account: string; readonly call: string }

/** Returns an address as the story shows it: without its query, which may be secret. */
const shownAddress = (address: string): string => {
  const url = URL.parse(address)
  const shown = url ? `${url.protocol}//${url.host}${url.pathname}` : (address.split('?', 1)[0] ?? '')
  return storable(shown, maxProgramStepLength)
}

const insert = (db: Db, steps: readonly WaitingStep[]) => db.run`
  insert into call_program_steps (account_id, call_id, sequence, at, verb, request_url, answer_status, ms, error_code)
  select * from unnest(${steps.map(({ account }) => account)}::uuid[], ${steps.map(({ call }) => call)}::uuid[],
    ${steps.map(({ sequence }) => sequence)}::integer[], ${steps.map(({ at }) => new Date(at))}::timestamptz[],
    ${steps.map(({ verb }) => verb)}::text[],
    ${steps.map(({ requestUrl }) => (requestUrl === null ? null : shownAddress(requestUrl)))}::text[],
    ${steps.map(({ answerStatus }) => answerStatus)}::integer[], ${steps.map(({ ms }) => Math.round(ms))}::integer[],
    ${steps.map(({ errorCode }) => errorCode)}::text[])
  on conflict do nothing`

/** Collects the steps of the programs of this process. They are persisted later, so that they delay no call. */
export const makeProgramSteps = (db: Db) => {
  let waiting: WaitingStep[] = []
  return {
    add: ({ account, id }: Pick<ProgramCall, 'account' | 'id'>, step: ProgramStep): void => {
      if (step.sequence <= maxProgramSteps) waiting.push({ ...step, account, call: id })
    },
    /** Persists the collected steps. Those that could not be stored are tried again. */
    flush: async (): Promise<void> => {
      const steps = waiting
      waiting = []
      if (steps.length === 0) return
      try {
        await insert(db, steps)
      } catch (error) {
        waiting = [...steps, ...waiting]
        throw error
      }
    },
  }
}

export const readSteps = (sql: Sql, account: string, call: string) => sql.many<StepRow>`
  select sequence, at, verb, request_url, answer_status, ms, error_code from call_program_steps
  where account_id = ${account} and call_id = ${call} order by sequence`

const textOf = ({ verb, request_url: url, answer_status: status, ms, error_code: code }: StepRow): string => {
  const failure = code === null ? '' : `: ${code}`
  if (url === null) return `${verb ?? 'The program'} took ${ms} ms${failure}`
  const what = verb === null ? 'The program was requested' : `The result of ${verb} was sent`
  const answer = status === null ? 'no answer came' : `the answer was ${status}`
  return `${what}: ${url}; ${answer} after ${ms} ms${failure}`
}

/** Returns the steps of a program as facts. */
export const programFacts = (steps: readonly StepRow[]): TimelineFact[] =>
  steps.map((step) => ({
    at: step.at,
    what: step.request_url === null ? ('program_verb' as const) : ('program_request' as const),
    text: textOf(step),
    detail: {
      ...{ sequence: step.sequence, verb: step.verb, url: step.request_url },
      ...{ answer_status: step.answer_status, ms: step.ms, error_code: step.error_code },
    },
  }))
