import { notFound } from '../../../platform/http/problem.ts'

export const refusals = {
  unknownNote: (note: string) => notFound(`Note ${note} does not exist`).at('note_uuid'),
  unknownMention: (user: string) => notFound(`User ${user} is not an active user of this account`).at('mentions'),
}
