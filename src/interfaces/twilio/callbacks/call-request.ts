import { makeRecordingLinks, programError, type RequestWriter } from '../../../domains/calls/compat/ops.ts'
import type { LinkDeps } from '../../../platform/lib/signed-links.ts'
import { type AccessDeps, signerOf } from './account-access.ts'
import { programParameters } from './call-parameters.ts'
import { statedOverrides, writeRequest } from './program-request.ts'
import { signatureOf } from './signature.ts'

/** Returns what signs requests of an account. @throws ProgramError for an account that has no token any more */
const requireSigner = async (deps: AccessDeps, account: string, url: string) => {
  const signer = await signerOf(deps, account)
  if (signer === null)
    throw programError('unreachable', 'The account has no token of the Twilio-compatible interface', url)
  return signer
}

/**
 * Makes the writer of requests to programs of calls in the shape of Twilio: a form or a query, signed with the token of the
 * account. It throws a ProgramError for an account that has no token any more.
 */
export const makeCallRequestWriter = (deps: AccessDeps & LinkDeps): RequestWriter => {
  const { pathUrlOfRecording } = makeRecordingLinks(deps)
  return async ({ account }, to, content, id) => ({
    ...writeRequest(await requireSigner(deps, account, to.url), to, programParameters(pathUrlOfRecording, content), id),
    ...statedOverrides(to.url),
  })
}

/** Returns the headers of the handshake of a stream, signed over its URL. @throws ProgramError as above */
export const streamHeaders = async (
  deps: AccessDeps,
  account: string,
  url: string,
): Promise<Record<string, string>> => {
  const { agent, token } = await requireSigner(deps, account, url)
  return { 'user-agent': agent, 'x-twilio-signature': signatureOf(token, url) }
}
