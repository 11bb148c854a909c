import type { Static } from 'typebox'
import { refuse } from '../../../platform/http/problem.ts'
import type { Outbound } from '../../../platform/lib/outbound.ts'
import type { ApplicationRow } from '../../applications/ops.ts'
import { refusals as applicationRefusals } from '../../applications/refusals.ts'
import type { CallCommand } from '../programs/call-command.ts'
import { verbSchemas } from '../programs/verbs.ts'
import { refusals } from '../refusals.ts'
import { resolveStreamTarget } from '../streams/stream-target.ts'
import type { commandCall } from './contract.ts'
import { checkAddress, checkTags, readRequestVerbs, sourceOf } from './order-source.ts'

type Body = Static<typeof commandCall.body>

/** The verb in the fields of a command, checked as in a document. @throws the 400 Problem */
const verbOf = (name: 'play' | 'say' | 'record_call' | 'stream', body: Body) => {
  const known: object = verbSchemas[name].properties
  const fields = Object.fromEntries(Object.entries(body).filter(([field]) => Object.hasOwn(known, field)))
  const [verb] = readRequestVerbs([{ ...fields, verb: name }])
  return verb ?? refuse(refusals.documentInvalid(`the fields are not those of ${name}`))
}

/** Reads a command of a request. @param application that it names @throws the 400 Problem if a field of it is missing or wrong */
export const readCommand = (body: Body, application: ApplicationRow | null): CallCommand => {
  const { command, digits, data, name } = body
  switch (command) {
    case 'hangup':
    case 'stop':
      return { command }
    case 'redirect':
      return { command, program: sourceOf(body, application) }
    case 'play':
    case 'say':
      return { command: 'play', verb: verbOf(command, body) }
    case 'record_call':
      return { command, verb: verbOf(command, body) }
    case 'stream':
      return { command, verb: verbOf(command, body) }
    case 'stop_stream':
      return { command, name: name ?? null, stream: null }
    case 'dtmf':
      return { command, digits: digits ?? refuse(refusals.fieldRequired('digits', command)) }
    case 'tag':
      checkTags('data', data)
      return { command, data: data ?? refuse(refusals.fieldRequired('data', command)) }
  }
}

/**
 * Checks the addresses in a command before it is stored. @throws the 400 Problem if one is refused, such as one of our own
 * network
 */
export const checkAddresses = async (outbound: Outbound, body: Body): Promise<void> => {
  const { command, url, fallback_url, status_url, urls = [] } = body
  if (command === 'stream' && url !== undefined) {
    const found = await resolveStreamTarget(outbound, url)
    if ('fault' in found && found.isForbidden) throw applicationRefusals.urlRefused('url', found.fault)
  } else await checkAddress(outbound, 'url', url)
  await checkAddress(outbound, 'fallback_url', fallback_url)
  await checkAddress(outbound, 'status_url', status_url)
  for (const address of urls) await checkAddress(outbound, 'urls', address)
}
