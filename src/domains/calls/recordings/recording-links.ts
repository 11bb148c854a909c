import { print } from '../../../platform/lib/id.ts'
import { type LinkDeps, makeSignedLinks, type SignedLinks } from '../../../platform/lib/signed-links.ts'

/** Makes signed links to recordings, by the uuids of account and call. */
export const recordingLinks = (deps: LinkDeps): SignedLinks =>
  makeSignedLinks(deps, 'recording', (call) => `/recordings/${print('CDR', call)}.wav`)
