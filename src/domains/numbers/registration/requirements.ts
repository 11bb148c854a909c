import type { Sql } from '../../../platform/db/sql.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { parse } from '../../../platform/lib/id.ts'
import { lockDocuments } from '../../documents/ops.ts'
import { refusals as documentRefusals } from '../../documents/refusals.ts'
import { refusals } from '../refusals.ts'
import * as store from '../store.ts'

type RequirementRow = store.RequirementRow

/** An answer to a requirement, as received. */
export type SubmittedAnswer = { requirement_id: number; document_uuid?: string; value?: string }

/** A validated answer: a document of the account, or a value. */
export type ValidAnswer = { requirement: number; document: string | null; value: string | null }

/**
 * Validates answers to requirements. A requirement that lists documents takes `document_uuid`, a document of the
 * account and of its kind; the others take `value`.
 * @param required all requirements that may be answered
 * @throws the 400 Problem that names the field, or the 404 Problem for a document that the account does not have
 */
export const validateAnswers = async (
  sql: Sql,
  account: string,
  required: readonly RequirementRow[],
  answers: readonly SubmittedAnswer[],
): Promise<ValidAnswer[]> => {
  const printed = answers.flatMap(({ document_uuid: one }) => one ?? [])
  const ids = printed.map((one) => parse('DOC', one) ?? refuse(documentRefusals.unknownDocument(one)))
  const documents = new Map((await lockDocuments(sql, account, ids)).map((row) => [row.id, row]))
  const seen = new Set<number>()
  return answers.map(({ requirement_id: id, document_uuid, value }, i) => {
    const field = `requirements.${i}`
    const requirement = required.find((one) => one.id === id) ?? refuse(refusals.unknownRequirement(field, id))
    if (seen.has(id)) throw refusals.repeatedRequirement(field, id)
    seen.add(id)
    if (requirement.documents.length === 0) {
      if (document_uuid !== undefined) throw refusals.documentNotAccepted(field)
      return { requirement: id, document: null, value: value ?? refuse(refusals.valueRequired(field)) }
    }
    if (value !== undefined) throw refusals.valueNotAccepted(field)
    if (document_uuid === undefined) throw refusals.documentRequired(field)
    const document =
      documents.get(parse('DOC', document_uuid) ?? '') ?? refuse(documentRefusals.unknownDocument(document_uuid))
    if (document.kind !== requirement.kind) throw refusals.wrongDocumentKind(field, document.kind, requirement.kind)
    return { requirement: id, document: document.id, value: null }
  })
}

/** Returns those of the country's requirements that apply to the group; none if the group needs no registration. */
export const requirementsIn = (
  { type, needs_registration }: Pick<store.GroupRow, 'type' | 'needs_registration'>,
  ofCountry: readonly RequirementRow[],
): RequirementRow[] => (needs_registration ? ofCountry.filter((one) => one.type === type) : [])

/** Reads the requirements that apply to the group. */
export const requirementsOf = async (sql: Sql, group: store.GroupRow): Promise<RequirementRow[]> =>
  requirementsIn(group, await store.requirements(sql, group.iso_country_code, group.type))

/** Returns the requirements without an answer. */
export const unansweredOf = (
  required: readonly RequirementRow[],
  answers: readonly Pick<ValidAnswer, 'requirement'>[],
): RequirementRow[] => required.filter(({ id }) => answers.every(({ requirement }) => requirement !== id))

/** Presents a requirement as responses show it. */
export const presentRequirement = ({ type, ...row }: RequirementRow) => ({ ...row, did_type: type })
