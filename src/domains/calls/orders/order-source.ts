import type { Static } from 'typebox'
import type { Sql } from '../../../platform/db/sql.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { parse } from '../../../platform/lib/id.ts'
import type { Outbound } from '../../../platform/lib/outbound.ts'
import { type ApplicationRow, findApplication } from '../../applications/ops.ts'
import { refusals as applicationRefusals } from '../../applications/refusals.ts'
import { maxProgramDocumentBytes, maxTagBytes } from '../limits.ts'
import { readVerbs } from '../programs/document.ts'
import { ProgramError } from '../programs/program.ts'
import type { ProgramSource } from '../programs/program-source.ts'
import type { Verb } from '../programs/verbs.ts'
import { refusals } from '../refusals.ts'
import type { createCall } from './contract.ts'

type Body = Static<typeof createCall.body>

/** The fields of a request that name a program. */
export type SourceFields = Pick<Body, 'application_uuid' | 'url' | 'method' | 'fallback_url' | 'verbs'>

/** Checks an address before it is stored. @throws the 400 Problem if it is refused, such as one of our own network */
export const checkAddress = async (outbound: Outbound, field: string, url: string | undefined): Promise<void> => {
  if (url === undefined) return
  const fault = await outbound.check(url)
  if (fault !== null) throw applicationRefusals.urlRefused(field, fault)
}

/** Reads verbs of a request. Addresses in them are absolute. @throws the 400 Problem if they are no document */
export const readRequestVerbs = (verbs: unknown): readonly Verb[] => {
  if (Buffer.byteLength(JSON.stringify(verbs)) > maxProgramDocumentBytes)
    throw refusals.documentInvalid(`A document has at most ${maxProgramDocumentBytes / 1_024} KiB as JSON`)
  try {
    return readVerbs(verbs, null).verbs
  } catch (error) {
    if (error instanceof ProgramError) throw refusals.documentInvalid(error.message)
    throw error
  }
}

/** Checks the addresses of a program, and its verbs. Part of the preparation of a request, as it may wait. */
export const checkSource = async (outbound: Outbound, { url, fallback_url, verbs }: SourceFields): Promise<void> => {
  if (verbs !== undefined) readRequestVerbs(verbs)
  await checkAddress(outbound, 'url', url)
  await checkAddress(outbound, 'fallback_url', fallback_url)
}

/** Returns the application that a request names, if it names one. @throws the 404 Problem if the account has none such */
export const applicationOf = async (
  sql: Sql,
  account: string,
  { application_uuid: printed }: SourceFields,
): Promise<ApplicationRow | null> => {
  if (printed === undefined) return null
  const id = parse('APP', printed)
  return (id && (await findApplication(sql, account, id))) || refuse(applicationRefusals.unknownApplication(printed))
}

/**
 * Returns the program that a request names.
 * @param application that it names, if it does
 * @throws the 400 Problem for none or several
 */
export const sourceOf = (
  { url, method, fallback_url, verbs }: SourceFields,
  application: ApplicationRow | null,
): ProgramSource => {
  if ([application ?? undefined, url, verbs].filter((one) => one !== undefined).length !== 1)
    throw refusals.oneProgram()
  if (application) return { kind: 'application', application: application.id, shape: application.format }
  if (verbs !== undefined) return { kind: 'verbs', verbs, base_url: null, shape: 'native' }
  return {
    ...{ kind: 'url', url: url ?? '', method: method ?? 'POST', shape: 'native' },
    ...{ fallback_url: fallback_url ?? null, fallback_method: 'POST' },
  }
}

/** @throws the 400 Problem for tags that are too large */
export const checkTags = (field: string, tags: object | undefined): void => {
  if (tags !== undefined && Buffer.byteLength(JSON.stringify(tags)) > maxTagBytes)
    throw refusals.tagsTooLarge(field, maxTagBytes)
}
