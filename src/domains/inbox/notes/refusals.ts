import { notFound } from '../../../platform/http/problem.ts'

export const refusals = {
  unknownNote: (note: string) => notFound(`Note ${note} does not exist`).at('note_uuid'),
}
