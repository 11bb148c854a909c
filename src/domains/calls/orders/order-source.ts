import type { Static } from 'typebox'
import type { Sql } from '../../../platform/db/sql.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { parse } from '../../../platform/lib/id.ts'
import type { Outbound } from '../../../platform/lib/outbound.ts'
import { findApplication } from '../../applications/ops.ts'
import { maxTagBytes } from '../limits.ts'
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
  if (fault !== null) throw refusals.urlRefused(field, fault)
}

/** Reads verbs of a request. Addresses in them are absolute. @throws the 400 Problem if they are no document */
export const readRequestVerbs = (verbs: unknown): readonly Verb[] => {
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

/** @throws the 404 Problem for an application that the account does not have */
export const checkApplication = async (sql: Sql, account: string, application: string | undefined): Promise<void> => {
  if (application === undefined) return
  const id = parse('APP', application)
  if (!id || !(await findApplication(sql, account, id))) throw refusals.unknownApplication(application)
}

/**
 * Returns the program that a request names.
 * @param applicationOf returns an application of the account by its printed id @throws the 404 Problem
 * @throws the 400 Problem for none or several
 */
export const sourceOf = ({ application_uuid, url, method, fallback_url, verbs }: SourceFields): ProgramSource => {
  if ([application_uuid, url, verbs].filter((one) => one !== undefined).length !== 1) throw refusals.oneProgram()
  if (application_uuid !== undefined)
    return {
      kind: 'application',
      application: parse('APP', application_uuid) ?? refuse(refusals.oneProgram()),
      shape: 'native',
    }
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
