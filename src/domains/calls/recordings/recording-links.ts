import { parse, print } from '../../../platform/lib/id.ts'
import { parseSid, printSid } from '../../../platform/lib/sid.ts'
import { type LinkDeps, makeSignedLinks } from '../../../platform/lib/signed-links.ts'

/** The file of a link: a recording, or the first one of a call that is left. Bare ids. */
export type LinkedFile = { readonly recording: string } | { readonly call: string }

/** Returns the file that the name in a link means; null if it means none. */
export const linkedFileOf = (name: string): LinkedFile | null => {
  const ofPath = parseSid('RE', name.replace(/\.wav$/, ''))
  if (ofPath) return { recording: ofPath }
  if (!name.endsWith('.wav')) return null
  const id = name.slice(0, -4)
  const recording = parse('REC', id)
  if (recording) return { recording }
  // Links to calls: `recording_url` of calls, and all links from before recordings had ids.
  const call = parse('CDR', id)
  return call ? { call } : null
}

/** Makes signed links to recordings, by bare ids. */
export const recordingLinks = (deps: LinkDeps) => {
  const toCalls = makeSignedLinks(deps, 'recording', (call) => `/recordings/${print('CDR', call)}.wav`)
  const toRecordings = makeSignedLinks(deps, 'recording', (id) => `/recordings/${print('REC', id)}.wav`)
  return {
    /** Returns a link to the first recording of a call that is left. */
    urlOf: toCalls.urlOf,
    urlOfRecording: toRecordings.urlOf,
    /** Returns a link without a query, for programs that add `.wav` to it. Its name has the form of the compatible interface. */
    pathUrlOfRecording: (account: string, id: string): string => {
      const { origin, searchParams } = new URL(toRecordings.urlOf(account, id))
      const parts = ['account', 'until', 'signature'].map((name) => searchParams.get(name))
      return `${origin}/recordings/${parts.join('/')}/${printSid('RE', id)}`
    },
    isValid: (account: string, file: LinkedFile, until: string, signature: string): boolean =>
      toCalls.isValid(account, 'call' in file ? file.call : file.recording, until, signature),
  }
}
