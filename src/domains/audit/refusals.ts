import { invalid } from '../../platform/http/problem.ts'

export const refusals = {
  unknownAction: (action: string, closest: string, known: string) =>
    invalid(`action ${action} is not recorded; did you mean ${closest}? Recorded are ${known}`).at('action'),
}
