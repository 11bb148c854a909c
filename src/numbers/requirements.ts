import type { Sql } from '../db/sql.ts'
import { keepDocuments } from '../documents/ops.ts'
import { invalid, notFound } from '../http/problem.ts'
import { parse } from '../lib/id.ts'
import * as store from './store.ts'

type RequirementRow = store.RequirementRow

/** What is given for a requirement, as it comes. */
export type Given = { requirement_id: number; document_uuid?: string; value?: string }

/** The same, checked: a document of the account, or words. */
export type Answer = { requirement: number; document: string | null; value: string | null }

/**
 * Reads what is given for requirements. One that lists documents wants `document_uuid`, a document of the account and of its
 * kind; the others want `value`.
 * @param asked every requirement to which something may be given
 * @throws the 400 Problem that names the field, or the 404 Problem for a document that the account does not have
 */
export const readAnswers = async (
  sql: Sql,
  account: string,
  asked: readonly RequirementRow[],
  given: readonly Given[],
): Promise<Answer[]> => {
  const printed = given.flatMap(({ document_uuid: one }) => one ?? [])
  const ids = printed.map((one) => parse('DOC', one) ?? notFound(`There is no document ${one}`))
  const documents = new Map((await keepDocuments(sql, account, ids)).map((row) => [row.id, row]))
  const seen = new Set<number>()
  return given.map(({ requirement_id: id, document_uuid, value }, i) => {
    const field = `requirements.${i}`
    const requirement =
      asked.find((one) => one.id === id) ??
      invalid(`${field}.requirement_id ${id} is not asked for here: see GET /open/numbers/requirements`)
    if (seen.has(id)) invalid(`${field}.requirement_id ${id} stands twice`)
    seen.add(id)
    if (requirement.documents.length === 0) {
      if (document_uuid !== undefined) invalid(`${field}.document_uuid is not wanted: give value, the words themselves`)
      return { requirement: id, document: null, value: value ?? invalid(`${field}.value is required`) }
    }
    if (value !== undefined) invalid(`${field}.value is not wanted: give document_uuid, an uploaded document`)
    if (document_uuid === undefined) return invalid(`${field}.document_uuid is required`)
    const document =
      documents.get(parse('DOC', document_uuid) ?? '') ?? notFound(`There is no document ${document_uuid}`)
    if (document.kind !== requirement.kind)
      invalid(`${field}.document_uuid is of the kind ${document.kind}, and must be of the kind ${requirement.kind}`)
    return { requirement: id, document: document.id, value: null }
  })
}

/** What is asked of who takes a number of the group, of all that its country asks: nothing where the group says so. */
export const askedIn = (
  { type, needs_registration }: Pick<store.GroupRow, 'type' | 'needs_registration'>,
  ofCountry: readonly RequirementRow[],
): RequirementRow[] => (needs_registration ? ofCountry.filter((one) => one.type === type) : [])

/** The same, read. */
export const askedOf = async (sql: Sql, group: store.GroupRow): Promise<RequirementRow[]> =>
  askedIn(group, await store.requirements(sql, group.iso_country_code, group.type))

/** The requirements for which nothing is given. */
export const missingOf = (
  asked: readonly RequirementRow[],
  answers: readonly Pick<Answer, 'requirement'>[],
): RequirementRow[] => asked.filter(({ id }) => answers.every(({ requirement }) => requirement !== id))

/** A requirement as answers show it. */
export const shownRequirement = ({ type, ...row }: RequirementRow) => ({ ...row, did_type: type })
