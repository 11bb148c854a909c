import { print } from '../lib/id.ts'
import { type LinkGround, type Links, makeLinks } from '../lib/links.ts'

/** Links to recordings, by the uuids of account and call. */
export const recordingLinks = (ground: LinkGround): Links =>
  makeLinks(ground, 'recording', (call) => `/recordings/${print('CDR', call)}.wav`)
