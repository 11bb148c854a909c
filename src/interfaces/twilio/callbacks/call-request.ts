import { ProgramError, type RequestWriter } from '../../../domains/calls/programs/program.ts'
import type { Services } from '../../../services.ts'
import { accessOf } from './account-access.ts'
import { programParameters } from './call-parameters.ts'
import { writeRequest } from './program-request.ts'

/**
 * Makes the writer of requests to programs of calls in the shape of Twilio: a form or a query, signed with the token of the
 * account. It throws a ProgramError for an account that has no token any more.
 */
export const makeCallRequestWriter = (services: Services): RequestWriter => {
  const neverAborted = new AbortController().signal
  return async ({ account }, to, content, id) => {
    const access = await accessOf(services, account, neverAborted)
    if (access === null)
      throw new ProgramError('unreachable', 'The account has no token of the Twilio-compatible interface', to.url)
    return writeRequest(access.deps, to, programParameters(services.publicUrl(), content), id)
  }
}
