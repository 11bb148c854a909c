import { trimWav } from './adapters/media/recording/wav.ts'
import type { SandboxAccounts } from './domains/accounts/sandbox-accounts.ts'
import { findApplication } from './domains/applications/ops.ts'
import { publishProgramFailed } from './domains/calls/ops.ts'
import type { CallPrograms, ProgramControl } from './domains/calls/orders/call-programs.ts'
import { addTags } from './domains/calls/orders/order-store.ts'
import { programKeysOf } from './domains/calls/orders/program-secret.ts'
import { resolveSource } from './domains/calls/orders/source-resolution.ts'
import { makeNativeWriter } from './domains/calls/programs/native-request.ts'
import { makeProgramRunner } from './domains/calls/programs/program-runner.ts'
import { makeSounds, type SoundsDeps } from './domains/calls/sounds/sounds.ts'
import { makeRunStream, type ProgramStreamDeps } from './domains/calls/streams/program-stream.ts'
import { makeReportStream } from './domains/calls/streams/stream-status.ts'
import { makeCallRequestWriter, streamHeaders } from './interfaces/twilio/callbacks/call-request.ts'
import type { Clock } from './platform/lib/clock.ts'
import { uuid } from './platform/lib/id.ts'
import type { OutboundPair } from './platform/lib/outbound.ts'
import { signatureHeaders, signingKeyOf } from './platform/lib/webhook-signature.ts'
import type { StartOptions } from './services.ts'

type ProgramsDeps = Pick<StartOptions, 'db' | 'seal' | 'log' | 'version' | 'config' | 'publicUrl'> & {
  readonly clock: Clock
  readonly sandboxAccounts: SandboxAccounts
  readonly outbound: OutboundPair
  readonly media: SoundsDeps['media']
}

/** Makes the programs of calls, with what they need of the platform. */
export const makeCallPrograms = (deps: ProgramsDeps): CallPrograms => {
  const { db, seal, log, version, sandboxAccounts, outbound } = deps
  const signingKeys: CallPrograms['signingKeys'] = async (account, application) => {
    const row = application && (await findApplication(db, account, application))
    return row ? [signingKeyOf(seal.open(row.sealed_secret))] : await programKeysOf(db, seal, account)
  }
  const resolve: CallPrograms['resolve'] = (account, source) => resolveSource({ db, seal }, account, source)
  const native = makeNativeWriter({
    agent: `Trunkline/${version}`,
    keysOf: (account) => signingKeys(account, null),
  })
  const onError = (error: unknown) => log.error({ err: error }, 'calls: a program failed on our side')
  const reportDeps = { db, clock: deps.clock, onError }
  const outboundOf: CallPrograms['outboundOf'] = (account) => outbound.of(sandboxAccounts.has(account))
  const streamHeadersOf: ProgramStreamDeps['headersOf'] = async ({ account, application, shape }, url) =>
    shape === 'twilio'
      ? streamHeaders(deps, account, url)
      : {
          'user-agent': `Trunkline/${version}`,
          ...signatureHeaders(await signingKeys(account, application), uuid(), '', Date.now()),
        }
  // Made with the first sound: of the processes of a home, only the one that runs the calls may use its cache.
  let sounds: ReturnType<typeof makeSounds> | null = null
  const soundsOf = () => {
    sounds ??= makeSounds(deps)
    return sounds
  }
  let control: ProgramControl | null = null
  const connected = (): ProgramControl => {
    if (!control) throw new Error('no call control runs in this process')
    return control
  }
  const runner = makeProgramRunner({
    writers: { native, twilio: makeCallRequestWriter(deps) },
    compileTwiml: async (base, text) => {
      // The parser is loaded with the first document: few installations need it.
      const { compileCallDocument } = await import('./interfaces/twilio/twiml/call-document.ts')
      return compileCallDocument(base, text)
    },
    sounds: { prepare: (...wish) => soundsOf().prepare(...wish) },
    recordings: {
      begin: (...wish) => connected().recordings.begin(...wish),
      finish: (...wish) => connected().recordings.finish(...wish),
    },
    trimRecording: trimWav,
    runStream: makeRunStream({ outboundOf, headersOf: streamHeadersOf, report: makeReportStream(reportDeps), onError }),
    placeChild: (...wish) => connected().placeChild(...wish),
    resolve: (call, source) => resolve(call.account, source),
    storeTags: async (call, tags) => void (await addTags(db, call.account, call.id, tags)),
    onStep: (...step) => connected().onStep(...step),
    onFailure: async (call, application, failure) => {
      log.warn({ account: call.account, call: call.id, application, ...failure }, 'calls: a program failed')
      await db.begin((tx) => publishProgramFailed(tx, call.account, call.id, application, failure))
    },
    onError,
  })
  const connect: CallPrograms['connect'] = (next) => {
    control = next
  }
  return { resolve, signingKeys, runner, connect, outboundOf, close: async () => sounds?.close() }
}
