import { invalid } from '../../platform/http/problem.ts'

export const refusals = {
  unknownAction: (action: string, closest: string | null, known: string) =>
    invalid(
      closest === null
        ? `action ${action} is not recorded. Recorded are ${known}`
        : `action ${action} is not recorded; did you mean ${closest}? Recorded are ${known}`,
    ).at('action'),
}
