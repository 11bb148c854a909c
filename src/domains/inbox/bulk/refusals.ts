import { conflict, invalid, notFound } from '../../../platform/http/problem.ts'

export const refusals = {
  conversationsRequired: () => invalid('Give either uuids or query', 'conversations_required').at('uuids'),
  changeRequired: () => invalid('change has no field', 'change_required').at('change'),
  unknownJob: (job: string) => notFound(`Bulk change ${job} does not exist`).at('job_uuid'),
  notUndoable: (why: string) => conflict(`The change cannot be undone: ${why}`, 'not_undoable'),
}
